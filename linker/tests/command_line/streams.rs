//! Inputs and outputs that are no plain files, and options about neither.

use crate::Folder;

#[test]
fn an_option_of_nvcc_is_no_library() {
    let folder = Folder::new();
    let link = "-arch=sm_90 -o out.cubin caller.cubin callee.cubin -lineinfo";
    folder.check(
        link,
        0,
        "nvlink warning : option '-lineinfo' has no effect in a device link: the lines of sources stay that the \
         objects have (nvcc -dc -lineinfo) [unused-option]\n",
    );
    folder.check(&format!("{link} --compat"), 0, "");
}

#[test]
fn outputs_that_cannot_be_written_are_explained() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("folder")).unwrap();
    let link = "-arch=sm_90 caller.cubin callee.cubin";
    for (output, why) in [
        ("folder", "it is a folder; name a file in it"),
        ("missing/out", "there is no such folder"),
        ("", "the name is empty"),
    ] {
        let expected = format!(
            "nvlink fatal   : Could not open output file '{output}': {why} [unwritable-output]\n"
        );
        folder.check(&format!("{link} --output-file={output}"), 1, &expected);
        let compat = format!("{link} --output-file={output} --compat");
        let expected = format!("nvlink fatal   : Could not open output file '{output}'\n");
        folder.check(&compat, 1, &expected);
    }
    assert_eq!(std::fs::read_dir(folder.0.path()).unwrap().count(), 3);
}

#[test]
fn a_full_disk_leaves_no_part_of_an_image() {
    let folder = Folder::new();
    let ran = folder.run("-arch=sm_90 caller.cubin callee.cubin -o /dev/full");
    let expected =
        "nvlink fatal   : Could not write output file '/dev/full': No space left on device";
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.starts_with(expected), "{}", ran.stderr);
    folder.check("-arch=sm_90 caller.cubin callee.cubin -o /dev/null", 0, "");
}
