//! Objects that are written here are read back, and carry what nvcc would put in.

use super::*;
use crate::container::{HostFile, host::ModuleId};

const MODULES: [&str; 2] = ["_0123_4_a_cu_f", "_4567_4_b_cu_g"];

fn modules() -> Vec<String> {
    MODULES.map(str::to_owned).to_vec()
}

fn fatbin() -> Vec<u8> {
    crate::fatbin::write(&[], &Default::default()).unwrap()
}

#[test]
fn objects_say_what_they_hold() {
    let fatbin = fatbin();
    let modules = modules();
    for machine in HostMachine::ALL {
        let object = HostObject::new(&fatbin, &modules).unwrap();
        let bytes = object.to_bytes(machine).unwrap();
        let file = HostFile::parse(&bytes).unwrap();
        assert_eq!(HostMachine::try_from(file.machine), Ok(machine));
        assert_eq!(file.module_ids, MODULES.map(ModuleId::Linked));
        assert_eq!(file.wrappers, [WRAPPER_VERSION]);
        assert_eq!(file.fatbins.len(), 1);
        assert_eq!(file.fatbins[0].data, fatbin);
        let symbols = |defined: bool| -> Vec<&str> {
            file.registration
                .iter()
                .filter(|symbol| symbol.defined == defined)
                .map(|symbol| symbol.name)
                .collect()
        };
        assert_eq!(
            symbols(true),
            [
                "__cudaRegisterLinkedBinary_0123_4_a_cu_f",
                "__cudaRegisterLinkedBinary_4567_4_b_cu_g"
            ]
        );
        let mut undefined = symbols(false);
        undefined.sort_unstable();
        assert_eq!(
            undefined,
            [
                "__cudaRegisterFatBinary",
                "__cudaRegisterFatBinaryEnd",
                "__cudaUnregisterFatBinary",
                "__fatbinwrap_0123_4_a_cu_f",
                "__fatbinwrap_4567_4_b_cu_g"
            ]
        );
    }
}

#[test]
fn without_modules_nothing_is_registered() {
    let fatbin = fatbin();
    let object = HostObject::new(&fatbin, &[]).unwrap();
    let bytes = object.to_bytes(HostMachine::X86_64).unwrap();
    let file = HostFile::parse(&bytes).unwrap();
    assert_eq!(file.fatbins.len(), 1);
    assert!(file.registration.is_empty() && file.wrappers.is_empty());
    assert!(!object.source().unwrap().contains("cudalink_register"));
}

#[test]
fn bad_modules_are_errors() {
    let twice = ["_a".to_owned(), "_a".to_owned()];
    let error = HostObject::new(&[], &twice).unwrap_err().to_string();
    assert!(error.starts_with("module '_a' is linked twice"), "{error}");
    let odd = ["_a-b".to_owned()];
    let error = HostObject::new(&[], &odd).unwrap().source().unwrap_err();
    assert!(matches!(error, HostError::NoIdentifier(name) if name == "_a-b"));
}
