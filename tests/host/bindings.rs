//! Images for programs that load them through the driver.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use rustnvlink_tests::checks::says;

use crate::Suite;
use crate::world::{World, run, source_file};

pub(crate) fn add(suite: &mut Suite) {
    let missing = suite.world.missing_toolkit();
    suite.add("bindings/rust", missing.clone(), rust);
    suite.add("bindings/c", missing.clone(), c);
    suite.add("bindings/cubin", missing, cubin);
}

/// The kernels and images of a fatbin are those that the source tells.
fn rust(world: &World) -> Result<()> {
    let objects = world.objects()?;
    let folder = world.folder("rust")?;
    let module = folder.join("device.rs");
    run(world
        .cudalink()?
        .args(["link", "--output-format=rust"])
        .args([&objects.main, &objects.part])
        .arg("-o")
        .arg(&module))?;
    let program = folder.join("program.rs");
    fs::write(
        &program,
        "#![deny(warnings, unreachable_pub, missing_docs)]
        //! A program.
        mod device;
        fn main() {
            assert_eq!(device::IMAGE[..4], [0x50, 0xed, 0x55, 0xba]);
            assert_eq!(device::IMAGE.as_ptr() as usize % 16, 0);
            assert_eq!(device::KERNELS.len(), 3);
            let kernel = device::kernels::APPLY_INT;
            assert_eq!(kernel.parameter_bytes, 12);
            let sizes: Vec<u32> = kernel.parameters.iter().map(|p| p.size).collect();
            assert_eq!(sizes, [8, 4]);
            let archs: Vec<&str> = kernel.resources.iter().map(|r| r.arch).collect();
            assert_eq!(archs, [\"sm_80\", \"sm_90a\", \"sm_103f\"]);
            assert!(kernel.resources.iter().all(|r| r.registers > 0 && r.stack == Some(0)));
            print!(\"{}\", device::kernels::STORE.name);
        }",
    )?;
    let executable = folder.join("program");
    run(Command::new("rustc")
        .args(["--edition", "2024"])
        .arg(&program)
        .arg("-o")
        .arg(&executable))?;
    let name = run(&mut Command::new(&executable))?;
    ensure!(name == "_Z5storePi", "{name}");
    Ok(())
}

/// The header serves C and C++.
fn c(world: &World) -> Result<()> {
    let objects = world.objects()?;
    let folder = world.folder("c")?;
    run(world
        .cudalink()?
        .args(["link", "--output-format=c-header", "--compress-mode=size"])
        .args([&objects.main, &objects.part])
        .arg("-o")
        .arg(folder.join("device.h")))?;
    fs::write(
        folder.join("program.c"),
        "#define DEVICE_IMPLEMENTATION
        #include \"device.h\"
        #include <stdio.h>
        int main(void)
        {
            int sizes[DEVICE_APPLY_INT_PARAMETER_COUNT] = {
                DEVICE_APPLY_INT_PARAMETER_0_SIZE, DEVICE_APPLY_INT_PARAMETER_1_SIZE};
            printf(\"%s %d %d %d %x %d\", DEVICE_STORE_NAME, DEVICE_APPLY_INT_PARAMETER_BYTES, sizes[0], sizes[1],
                *(const unsigned *)device_image, DEVICE_STORE_SM_80_REGISTERS > 0);
            return DEVICE_IMAGE_SIZE > sizeof device_image;
        }",
    )?;
    for (compiler, language) in [("cc", "c"), ("c++", "c++")] {
        let program = folder.join(language);
        run(Command::new(compiler)
            .args(["-Wall", "-Wextra", "-Werror", "-x", language])
            .arg(folder.join("program.c"))
            .arg("-o")
            .arg(&program))?;
        let text = run(&mut Command::new(&program))?;
        ensure!(text == "_Z5storePi 12 8 4 ba55ed50 1", "{text}");
    }
    Ok(())
}

/// A cubin is for one processor, and a failure leaves no file.
fn cubin(world: &World) -> Result<()> {
    let objects = world.objects()?;
    let folder = world.folder("cubin")?;
    let link = |arch: Option<&str>, output: &str| -> Result<std::process::Output> {
        let mut command = world.cudalink()?;
        command.args(["link", "--output-format=cubin"]);
        if let Some(arch) = arch {
            command.args(["--arch", arch]);
        }
        command.args([&objects.main, &objects.part]);
        Ok(command.arg("-o").arg(folder.join(output)).output()?)
    };
    let refused = link(None, "several.cubin")?;
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    ensure!(!refused.status.success() && !folder.join("several.cubin").exists());
    ensure!(
        why.contains("there are images for sm_80, sm_90a, sm_103f"),
        "{why}"
    );
    ensure!(link(Some("sm_86"), "one.cubin")?.status.success());
    ensure!(fs::read(folder.join("one.cubin"))?.starts_with(b"\x7fELF"));

    // What is missing may be in an object that is closed to others.
    let closed = folder.join("closed.o");
    run(world
        .nvcc()?
        .args(["-c", "-rdc=false"])
        .arg(source_file("part.cu"))
        .arg("-o")
        .arg(&closed))?;
    let fail = |arguments: &[&Path], parts: &[&str]| -> Result<()> {
        let output = folder.join("failed.o");
        let mut command = world.cudalink()?;
        command.arg("link").args(arguments).arg("-o").arg(&output);
        let failed = command.output()?;
        let why = String::from_utf8_lossy(&failed.stderr).into_owned();
        ensure!(!failed.status.success() && !output.exists(), "{why}");
        says(&why, parts)
    };
    fail(
        &[&objects.main, &closed],
        &[
            "Undefined reference to '_Z6triplei'",
            "info: device functions of '",
            "closed.o' cannot be called from elsewhere: compile with -rdc=true (in CMake",
        ],
    )?;
    let linked = folder.join("part_link.o");
    run(world
        .cudalink()?
        .arg("link")
        .arg(&objects.part)
        .arg("-o")
        .arg(&linked))?;
    fail(
        &[&objects.main, &linked],
        &["part_link.o' has the result of a device link, whose device functions cannot be called"],
    )?;
    let lacking = [Path::new("--arch=sm_75"), &objects.main, &objects.part];
    fail(
        &lacking,
        &["error: no input has device code for sm_75: compile for it, too, or choose with --arch"],
    )?;
    let output = world
        .cudalink()?
        .arg("link")
        .args(lacking)
        .args(["-o", "-"])
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(!said.contains("the image is empty"), "{said}");
    // A source would be compiled by nvcc; another file that is nothing of the kind is told of.
    fail(
        &[&objects.main, &source_file("part.cu")],
        &["part.cu' is a source, which has to be compiled first (nvcc -dc)"],
    )?;
    let text = folder.join("notes.txt");
    fs::write(&text, "nothing to link\n".repeat(20))?;
    fail(
        &[&text],
        &[
            "notes.txt' is ignored: ",
            "error: no input has machine code that can be linked",
        ],
    )?;
    fail(
        &[&closed],
        &["error: no input has machine code that can be linked; compile with -rdc=true"],
    )?;
    let empty = folder.join("libempty.a");
    std::fs::write(&empty, "!<arch>\n")?;
    fail(
        &[&empty],
        &["error: no input has device code; name the objects and static libraries"],
    )
}
