//! Programs that register device code through our object, beside the same programs with that of nvcc.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::world::{LINKERS, World, missing_linker, modules, run, section};
use crate::{Missing, Suite};

/// How a program is linked.
const KINDS: [(&str, &[&str]); 3] = [
    ("pie", &["-pie"]),
    ("fixed", &["-no-pie"]),
    ("collected", &["-pie", "-Wl,--gc-sections"]),
];

pub(crate) fn add(suite: &mut Suite) {
    let missing = suite.world.missing_toolkit();
    suite.add("object/nvcc", missing.clone(), like_nvcc);
    for linker in LINKERS {
        let missing: Missing = missing.clone().or_else(|| missing_linker(linker));
        suite.add(format!("program/{linker}"), missing.clone(), move |world| {
            programs(world, linker)
        });
        suite.add(format!("library/{linker}"), missing.clone(), move |world| {
            shared_library(world, linker)
        });
        suite.add(format!("archive/{linker}"), missing.clone(), move |world| {
            archive(world, linker)
        });
        suite.add(format!("joined/{linker}"), missing, move |world| {
            joined(world, linker)
        });
    }
    suite.add("runtime/static", missing.clone(), real_runtime);
    suite.add("other-system", missing, other_system);
}

/// Our device link of the two objects, in one of its two forms.
fn our_link(world: &World, folder: &Path, form: &[&str], inputs: &[&Path]) -> Result<PathBuf> {
    let object = folder.join(format!("link{}.o", form.concat()));
    run(world
        .cudalink()?
        .arg("link")
        .args(form)
        .args(inputs)
        .arg("-o")
        .arg(&object))?;
    Ok(object)
}

/// A compiler of this system makes no objects for another one.
fn other_system(world: &World) -> Result<()> {
    let objects = world.objects()?;
    let object = world.folder("other_system")?.join("link.o");
    let link = world
        .cudalink()?
        .args(["link", "--target", "x86_64-pc-windows-msvc"])
        .args([&objects.main, &objects.part])
        .arg("-o")
        .arg(&object)
        .env("CC", "cc")
        .output()?;
    let text = String::from_utf8_lossy(&link.stderr);
    ensure!(!link.status.success() && !object.exists(), "{text}");
    ensure!(
        text.contains("not those of x86_64-pc-windows-msvc"),
        "{text}"
    );
    Ok(())
}

/// What is the same in both objects but for the code.
fn like_nvcc(world: &World) -> Result<()> {
    let objects = world.objects()?;
    let folder = world.folder("like")?;
    for form in [&[][..], &["--cc"]] {
        let ours = our_link(world, &folder, form, &[&objects.main, &objects.part])?;
        let ids = |object: &Path| -> Result<Vec<u8>> {
            let mut ids = section(object, "__nv_module_id")?;
            // Compilers leave a NUL more behind a text.
            while ids.ends_with(&[0]) {
                ids.pop();
            }
            Ok(ids)
        };
        ensure!(
            ids(&ours)? == ids(&objects.nvcc_link)?,
            "{form:?}: other modules"
        );
        ensure!(modules(&ours)?.is_empty());
        same_images(&objects.nvcc_link, &ours)?;
    }
    Ok(())
}

/// The images are those of nvlink, its note about itself aside.
fn same_images(theirs: &Path, ours: &Path) -> Result<()> {
    run(Command::new(env!("CARGO_BIN_EXE_same-images")).args([theirs, ours])).map(|_| ())
}

/// Links a program and gives what it prints.
fn output(linker: &str, options: &[&str], program: &Path, inputs: &[&Path]) -> Result<String> {
    run(Command::new("c++")
        .arg(format!("-fuse-ld={linker}"))
        .args(options)
        .args(inputs)
        .arg("-o")
        .arg(program))?;
    run(&mut Command::new(program))
}

/// The calls that the stand-in has recorded.
fn expected(world: &World, linker: &str, folder: &Path) -> Result<String> {
    let objects = world.objects()?;
    let program = folder.join("expected");
    let inputs: [&Path; 4] = [
        &objects.nvcc_link,
        &objects.main,
        &objects.part,
        &objects.runtime,
    ];
    let text = output(linker, &["-pie"], &program, &inputs)?;
    for call in [
        "RegisterFatBinary magic 466243b1 version 2",
        "RegisterFunction",
        "RegisterManagedVar",
    ] {
        ensure!(text.contains(call), "no {call} among the calls\n{text}");
    }
    ensure!(
        text.trim_end().ends_with("__cudaUnregisterFatBinary 1"),
        "{text}"
    );
    Ok(text)
}

fn same(what: &str, expected: &str, ours: &str) -> Result<()> {
    ensure!(
        expected == ours,
        "{what}: expected\n{expected}\nfound\n{ours}"
    );
    Ok(())
}

fn programs(world: &World, linker: &str) -> Result<()> {
    let objects = world.objects()?;
    let folder = world.folder(&format!("program_{linker}"))?;
    let expected = expected(world, linker, &folder)?;
    for form in [&[][..], &["--cc"]] {
        let link = our_link(world, &folder, form, &[&objects.main, &objects.part])?;
        for (name, options) in KINDS {
            let inputs: [&Path; 4] = [&link, &objects.main, &objects.part, &objects.runtime];
            let ours = output(linker, options, &folder.join(name), &inputs)?;
            same(&format!("{form:?} {name}"), &expected, &ours)?;
        }
    }
    Ok(())
}

/// The object pulls those of its modules out of libraries, also with linkers that read these once.
fn archive(world: &World, linker: &str) -> Result<()> {
    let objects = world.objects()?;
    let folder = world.folder(&format!("archive_{linker}"))?;
    let expected = expected(world, linker, &folder)?;
    let library = folder.join("libpart.a");
    run(Command::new("ar")
        .arg("rcs")
        .arg(&library)
        .arg(&objects.part))?;
    for form in [&[][..], &["--cc"]] {
        let link = our_link(world, &folder, form, &[&objects.main, &library])?;
        let inputs: [&Path; 4] = [&link, &objects.main, &library, &objects.runtime];
        let ours = output(linker, &["-pie"], &folder.join("program"), &inputs)?;
        same(&format!("{form:?}"), &expected, &ours)?;
    }
    Ok(())
}

/// Objects that are put together keep what waits apart from what is linked.
fn joined(world: &World, linker: &str) -> Result<()> {
    let objects = world.objects()?;
    let folder = world.folder(&format!("joined_{linker}"))?;
    let expected = expected(world, linker, &folder)?;
    let join = |name: &str, inputs: &[&Path]| -> Result<PathBuf> {
        let object = folder.join(name);
        let mut command = Command::new(format!("ld.{linker}"));
        run(command.arg("-r").args(inputs).arg("-o").arg(&object))?;
        Ok(object)
    };
    let same = |what: &str, inputs: &[&Path]| {
        let ours = output(linker, &["-pie"], &folder.join("program"), inputs)?;
        same(what, &expected, &ours)
    };
    let says = |input: &Path, said: &str| -> Result<()> {
        let result = folder.join("again.o");
        let mut command = world.cudalink()?;
        let link = command.arg("link").arg(input).arg("-o").arg(&result);
        let link = link.output()?;
        let text = String::from_utf8_lossy(&link.stderr);
        ensure!(text.contains(said), "no '{said}' in {text}");
        ensure!(!link.status.success() && !result.exists(), "{text}");
        Ok(())
    };
    let both = join("both.o", &[&objects.main, &objects.part])?;
    let link = our_link(world, &folder, &[], &[&both])?;
    same("waiting", &[&link, &both, &objects.runtime])?;
    let whole = join("whole.o", &[&both, &link])?;
    same("linked", &[&whole, &objects.runtime])?;
    says(&whole, "whole.o' holds the result of a device link already")?;
    // What waits beside cannot call it.
    let link = our_link(world, &folder, &[], &[&objects.part])?;
    let half = join("half.o", &[&link, &objects.main, &objects.part])?;
    says(&half, "device functions cannot be called from elsewhere")
}

/// A shared library with its own device link, in a program that holds the same module and links it itself.
/// A shared library with its own device link, in a program that holds the same module and links it itself.
fn shared_library(world: &World, linker: &str) -> Result<()> {
    let objects = world.objects()?;
    let folder = world.folder(&format!("library_{linker}"))?;
    let outputs = [
        shared_program(
            linker,
            &folder.join("libtheirs.so"),
            &objects.nvcc_link,
            world,
        )?,
        {
            let link = our_link(world, &folder, &[], &[&objects.main, &objects.part])?;
            shared_program(linker, &folder.join("libours.so"), &link, world)?
        },
        {
            let link = our_link(world, &folder, &["--cc"], &[&objects.main, &objects.part])?;
            shared_program(linker, &folder.join("libcompiled.so"), &link, world)?
        },
    ];
    same("library", &outputs[0], &outputs[1])?;
    same("library, compiled", &outputs[0], &outputs[2])?;

    let part_link = our_link(world, &folder, &[], &[&objects.part])?;
    let library = folder.join("libpart.so");
    run(Command::new("c++")
        .arg(format!("-fuse-ld={linker}"))
        .args(["-shared", "-Wl,-z,defs"])
        .args([&part_link, &objects.part, &objects.runtime])
        .arg("-o")
        .arg(&library))?;
    let both = folder.join("both");
    let link = folder.join("all.o");
    run(world
        .cudalink()?
        .arg("link")
        .args([&objects.main, &objects.part])
        .arg("-o")
        .arg(&link))?;
    let inputs: [&Path; 4] = [&link, &objects.main, &objects.part, &library];
    let rpath = format!("-Wl,-rpath,{}", folder.display());
    let text = output(
        linker,
        &["-pie", &rpath, "-Wl,--no-as-needed"],
        &both,
        &inputs,
    )?;
    for end in [
        "__cudaRegisterFatBinaryEnd 1",
        "__cudaRegisterFatBinaryEnd 2",
        "__cudaUnregisterFatBinary 1",
    ] {
        ensure!(text.contains(end), "no {end}\n{text}");
    }
    Ok(())
}

/// Everything but the runtime in a library, and a program that has nothing but the library.
fn shared_program(linker: &str, library: &Path, link: &Path, world: &World) -> Result<String> {
    let objects = world.objects()?;
    run(Command::new("c++")
        .arg(format!("-fuse-ld={linker}"))
        .args(["-shared", "-Wl,-z,defs"])
        .args([link, &objects.main, &objects.part, &objects.runtime])
        .arg("-o")
        .arg(library))?;
    output(
        linker,
        &["-pie", "-Wl,-u,main"],
        &library.with_extension("program"),
        &[library],
    )
}

/// The real runtime. Without a GPU it refuses to work, and does so in the same way.
fn real_runtime(world: &World) -> Result<()> {
    let objects = world.objects()?;
    let folder = world.folder("runtime")?;
    let link = our_link(world, &folder, &[], &[&objects.main, &objects.part])?;
    let runtime = world.toolkit()?.libraries()?.join("libcudart_static.a");
    let mut outputs = Vec::new();
    for link in [&objects.nvcc_link, &link] {
        let program = folder.join("program");
        run(Command::new("c++")
            .args([link, &objects.main, &objects.part, &runtime])
            .args(["-lpthread", "-ldl", "-lrt", "-o"])
            .arg(&program))?;
        outputs.push(run(&mut Command::new(&program))?);
    }
    ensure!(outputs[0].starts_with("main "), "{}", outputs[0]);
    same("program", &outputs[0], &outputs[1])
}
