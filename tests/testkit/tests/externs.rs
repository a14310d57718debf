//! Kernels that leave functions to the driver.

use rustnvlink::arch::Sm;
use rustnvlink::codes;
use rustnvlink::cubin::{File, InfoCode, InfoRecords};
use rustnvlink::options::{Behaviour, Options};
use rustnvlink::{Input, Outcome, link};

/// Links a kernel that lists a function of the driver so many times, and calls a function that lists another one. A second
/// kernel calls neither.
fn linked(count: usize, behaviour: Behaviour) -> Outcome {
    let calls = "    call __cuda_syscall_one\n".repeat(count);
    let text = format!(
        "
target sm_90
entry lone
entry kernel
    call middle at 0x20
{calls}
function middle #v
    call __cuda_syscall_other
extern function __cuda_syscall_one #v
extern function __cuda_syscall_other #v
"
    );
    let object = rustnvlink_testkit::build(&text).unwrap();
    let input = Input::new("object.cubin", &object);
    link(&[input], &Options::new(Sm::new(90)).behaviour(behaviour))
}

#[test]
fn kernels_list_what_they_and_their_functions_leave_to_the_driver() {
    let image = linked(16_382, Behaviour::Own).image.expect("an image");
    let file = File::parse(&image).unwrap();
    let section = file.section_by_name(".nv.info.kernel").unwrap();
    let mut records = InfoRecords::new(file.sections[section].data).map(Result::unwrap);
    let list = records.find(|record| record.code == InfoCode::EXTERNS);
    assert_eq!(list.expect("a list").payload.len(), 4 * 16_383);
}

#[test]
fn more_than_a_record_can_list_is_an_error() {
    for behaviour in [Behaviour::Own, Behaviour::Nvlink] {
        let outcome = linked(16_383, behaviour);
        assert_eq!(outcome.image, None);
        let [message] = outcome.diagnostics.messages() else {
            panic!("{:?}", outcome.diagnostics);
        };
        assert_eq!(message.code, codes::RECORD_TOO_LARGE);
        assert_eq!(message.symbol(), Some("kernel"));
        assert_eq!(
            message.text,
            "Record EIATTR_EXTERNS in '.nv.info.kernel' is too large (0x10000 bytes, 0xffff max)"
        );
    }
}
