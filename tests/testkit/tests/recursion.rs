//! Kernels whose need of stack has no bound.

use rustnvlink::arch::Sm;
use rustnvlink::cubin::{File, InfoCode, InfoRecords};
use rustnvlink::options::Options;
use rustnvlink::{Input, link};

/// The link writes such a record anew, whatever it was in the object.
#[test]
fn a_record_of_no_bound_holds_its_number() {
    let object = rustnvlink_testkit::build(
        "
target sm_90
entry kernel
    info CRS_STACK_SIZE half 3
    call again at 0x20
function again #v
    call again at 0x20
",
    )
    .unwrap();
    let input = Input::new("object.cubin", &object);
    let outcome = link(&[input], &Options::new(Sm::new(90)));
    let image = outcome.image.expect("an image");
    let file = File::parse(&image).unwrap();
    let section = file.section_by_name(".nv.info.kernel").unwrap();
    let records: Result<Vec<_>, _> = InfoRecords::new(file.sections[section].data).collect();
    let records = records.expect("whole records");
    let is_stack = |code| code == InfoCode::CRS_STACK_SIZE;
    let stack: Vec<_> = records.iter().filter(|r| is_stack(r.code)).collect();
    assert_eq!(stack.len(), 1);
    assert_eq!(stack[0].payload, u32::MAX.to_le_bytes());
}
