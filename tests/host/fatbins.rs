//! Fatbins beside those of NVIDIA's tools.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use cudalink_toolkit::Tool;
use rustnvlink::fatbin::{self, CompressionMode, Fatbin, FatbinOptions, Limit, LinkedImage};

use crate::Suite;
use crate::world::{self, World, run};

/// A name for the images, at each length of padding.
const IDENTIFIERS: [&str; 3] = ["", "a.o", "1234567 "];

pub(crate) fn add(suite: &mut Suite) {
    let missing = suite.world.missing_toolkit();
    suite.add("fatbin/nvcc", missing.clone(), of_nvcc);
    suite.add("fatbin/debug", missing.clone(), for_debuggers);
    suite.add("fatbin/modes", missing.clone(), modes);
    suite.add("fatbin/options", missing.clone(), beside_fatbinary);
    suite.add("fatbin/large", missing, large_images);
}

/// What a fatbin says of each image.
fn told(object: &Path) -> Result<Vec<String>> {
    let section = world::section(object, ".nv_fatbin")?;
    let entries = Fatbin::parse(&section)?.entries();
    entries
        .map(|entry| {
            let entry = entry?;
            let name = String::from_utf8_lossy(entry.identifier);
            entry.image(Limit::default())?;
            Ok(format!(
                "{} {:#x} '{name}' {}",
                entry.sm,
                entry.flags.0,
                entry.compression()
            ))
        })
        .collect()
}

/// What nvcc is told of compression means the same to us, also for debuggers.
fn modes(world: &World) -> Result<()> {
    let objects = world.objects()?;
    let folder = world.folder("modes")?;
    let (theirs, ours) = (folder.join("theirs.o"), folder.join("ours.o"));
    for mode in ["none", "speed", "balance", "size", "default"] {
        for options in [&[][..], &["-G"]] {
            let mode = format!("--compress-mode={mode}");
            let line = |mut command: Command, output: &Path| {
                command
                    .args(options)
                    .args([&mode, "-dlink"])
                    .args([&objects.main, &objects.part])
                    .arg("-o")
                    .arg(output);
                run(&mut command)
            };
            line(world.nvcc()?, &theirs)?;
            let mut command = world.cudalink()?;
            command.arg("nvcc-dlink").arg(world.tool(Tool::Nvcc)?);
            command.args(world.nvcc()?.get_args());
            line(command, &ours)?;
            let (theirs, ours) = (told(&theirs)?, told(&ours)?);
            ensure!(
                theirs == ours,
                "{mode} {options:?}: nvcc: {theirs:?}, ours: {ours:?}"
            );
        }
    }
    Ok(())
}

/// With -G, images are named, marked and compressed as those of nvcc.
fn for_debuggers(world: &World) -> Result<()> {
    let objects = world.objects()?;
    let folder = world.folder("debug")?;
    let (theirs, ours) = (folder.join("theirs.o"), folder.join("ours.o"));
    let inputs = [&objects.main, &objects.part];
    run(world
        .nvcc()?
        .args(["-G", "-dlink"])
        .args(inputs)
        .arg("-o")
        .arg(&theirs))?;
    run(world
        .cudalink()?
        .args(["link", "-G"])
        .args(inputs)
        .arg("-o")
        .arg(&ours))?;
    let (theirs, ours) = (told(&theirs)?, told(&ours)?);
    ensure!(theirs == ours, "nvcc: {theirs:?}, ours: {ours:?}");
    Ok(())
}

/// What nvcc's device link has put into its object, written again.
fn of_nvcc(world: &World) -> Result<()> {
    let expected = world::section(&world.objects()?.nvcc_link, ".nv_fatbin")?;
    let fatbin = Fatbin::parse(&expected)?;
    let entries = fatbin.entries().collect::<Result<Vec<_>, _>>()?;
    ensure!(entries.len() == world::ARCHS.len());
    let images: Vec<LinkedImage<'_>> = entries
        .iter()
        .map(|entry| LinkedImage::new(entry.sm, entry.stored))
        .collect();
    let ours = fatbin::write(&images, &FatbinOptions::default())?;
    ensure!(ours == expected, "the fatbins differ");
    Ok(())
}

/// Every option that concerns linked images. Compressed bytes have to be the same, too.
fn beside_fatbinary(world: &World) -> Result<()> {
    let folder = world.folder("fatbin")?;
    let linked = world::section(&world.objects()?.nvcc_link, ".nv_fatbin")?;
    let fatbin = Fatbin::parse(&linked)?;
    let mut images = Vec::new();
    let mut arguments = Vec::new();
    for entry in fatbin.entries() {
        let entry = entry?;
        let name = entry.sm.to_string();
        let file = folder.join(format!("{name}.cubin"));
        fs::write(&file, entry.stored)?;
        arguments.push(format!(
            "--image3=kind=elf,sm={},file={}",
            name.trim_start_matches("sm_"),
            file.display()
        ));
        images.push(LinkedImage::new(entry.sm, entry.stored));
    }
    let fatbinary = world.tool(Tool::Fatbinary)?;
    let output = folder.join("theirs.fatbin");
    for mode in ["none", "balance", "size", "speed"] {
        for debug in [false, true] {
            for identifier in IDENTIFIERS {
                let mut command = Command::new(&fatbinary);
                command
                    .args(["-64", "-link", "-compress-all"])
                    .arg(format!("-compress-mode={mode}"))
                    .args(&arguments)
                    .arg(format!("--create={}", output.display()));
                if debug {
                    command.arg("-g");
                }
                if !identifier.is_empty() {
                    command.arg(format!("--ident={identifier}"));
                }
                run(&mut command)?;
                let theirs = fs::read(&output)?;
                let options = FatbinOptions::default()
                    .identifier(identifier)
                    .debug(debug)
                    .compression(mode.parse::<CompressionMode>()?);
                let ours = fatbin::write(&images, &options)?;
                let what = format!("{mode}, debug {debug}, identifier '{identifier}'");
                ensure!(
                    ours == theirs,
                    "{what}: {} bytes differ from the {} of fatbinary",
                    ours.len(),
                    theirs.len()
                );
                for (entry, image) in Fatbin::parse(&ours)?.entries().zip(&images) {
                    ensure!(entry?.image(Limit::default())? == image.data, "{what}");
                }
            }
        }
    }
    Ok(())
}

/// Without a word on compression, the size of an image decides.
fn large_images(world: &World) -> Result<()> {
    let folder = world.folder("large_images")?;
    let linked = world::section(&world.objects()?.nvcc_link, ".nv_fatbin")?;
    let first = Fatbin::parse(&linked)?.entries().next();
    let first = first.context("a fatbin with an image")??;
    let (cubin, output) = (folder.join("image.cubin"), folder.join("theirs.fatbin"));
    for (size, is_compressed) in [(10_000_000, false), (10_000_001, true)] {
        let mut data = first.stored.to_vec();
        data.resize(size, 0);
        fs::write(&cubin, &data)?;
        let number = first.sm.to_string().replace("sm_", "");
        run(Command::new(world.tool(Tool::Fatbinary)?)
            .args(["-64", "-link"])
            .arg(format!(
                "--image3=kind=elf,sm={number},file={}",
                cubin.display()
            ))
            .arg(format!("--create={}", output.display())))?;
        let image = LinkedImage::new(first.sm, &data);
        let ours = fatbin::write(&[image], &FatbinOptions::default())?;
        ensure!(ours == fs::read(&output)?, "{size} bytes");
        ensure!((ours.len() < size) == is_compressed, "{size} bytes");
    }
    Ok(())
}
