//! Scripts for host linkers, beside those of nvlink.

use std::process::Command;

use anyhow::{Result, ensure};
use cudalink_toolkit::Tool;

use crate::Suite;
use crate::world::{World, missing_linker, run};

pub(crate) fn add(suite: &mut Suite) {
    let missing = suite.world.missing_toolkit();
    suite.add("script/nvlink", missing.clone(), like_nvlink);
    for linker in ["bfd", "lld"] {
        let missing = missing.clone().or_else(|| missing_linker(linker));
        let name = format!("script/{linker}");
        suite.add(name, missing, move |world| inserted(world, linker));
    }
}

fn like_nvlink(world: &World) -> Result<()> {
    let nvlink = world.tool(Tool::Nvlink)?;
    for (kind, options) in [
        ("lcs-aug", &[][..]),
        ("lcs-abs", &[]),
        ("lcs-abs", &["--shared"]),
    ] {
        let theirs = run(Command::new(&nvlink)
            .arg(format!("-ghls={kind}"))
            .args(options)
            .args(["--host-ccbin", "gcc"]))?;
        let ours = run(world.cudalink()?.args(["script", kind]).args(options))?;
        ensure!(
            theirs == ours,
            "{kind} {options:?}: nvlink prints\n{theirs}\nours\n{ours}"
        );
    }
    Ok(())
}

/// The device code of a program goes behind everything else, and the program runs.
fn inserted(world: &World, linker: &str) -> Result<()> {
    let objects = world.objects()?;
    let folder = world.folder(&format!("script_{linker}"))?;
    let script = folder.join("script.lds");
    run(world.cudalink()?.arg("script").arg("-o").arg(&script))?;
    let program = folder.join("program");
    run(Command::new("c++")
        .arg(format!("-fuse-ld={linker}"))
        .args([
            &objects.nvcc_link,
            &objects.main,
            &objects.part,
            &objects.runtime,
        ])
        .arg(format!("-Wl,-T,{}", script.display()))
        .arg("-o")
        .arg(&program))?;
    let text = run(&mut Command::new(&program))?;
    ensure!(text.contains("__cudaRegisterFatBinaryEnd 1"), "{text}");
    let address = |name: &str| -> Result<u64> {
        use object::{Object as _, ObjectSection as _};
        let data = std::fs::read(&program)?;
        let file = object::File::parse(&data[..])?;
        let section = file.section_by_name(name);
        Ok(section.map_or(0, |section| section.address()))
    };
    ensure!(address(".bss")? > 0 && address(".nv_fatbin")? > address(".bss")?);
    Ok(())
}
