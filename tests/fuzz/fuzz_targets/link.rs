//! Whole links: options, a program, and edits of its objects.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rustnvlink::cubin::File;
use rustnvlink::options::{ImageKind, Options};
use rustnvlink::{Input, Outcome, link};
use rustnvlink_fuzz::Bytes;
use rustnvlink_fuzz::damage::damage;
use rustnvlink_fuzz::programs::PROGRAMS;
use rustnvlink_fuzz::settings::options;

/// Links, and reads all that the link has to say.
fn check(objects: &[(String, Vec<u8>)], options: &Options) -> Outcome {
    let inputs = objects.iter().map(|(name, data)| Input::new(name, data));
    let outcome = link(&inputs.collect::<Vec<_>>(), options);
    assert_ne!(outcome.image.is_some(), outcome.diagnostics.has_errors());
    for message in outcome.diagnostics.messages() {
        let _ = message.shown();
    }
    if let Some(image) = &outcome.image {
        File::parse(image).expect("images can be read");
    }
    outcome
}

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let Some(program) = bytes.pick(&PROGRAMS) else {
        return;
    };
    let mut options = options(&mut bytes, program);
    let more = bytes.short();
    let mut objects = program.objects.clone();
    // A program for the same processor beside it.
    if more & 1 != 0 {
        let others = PROGRAMS.iter().filter(|other| other.sm == program.sm);
        let others: Vec<_> = others.collect();
        objects.extend_from_slice(&others[more / 2 % others.len()].objects);
    }
    while !bytes.is_empty() {
        let at = usize::from(bytes.byte()) % objects.len();
        damage(&mut objects[at].1, &mut bytes);
    }
    let outcome = check(&objects, &options);
    if let (Some(image), ImageKind::Relocatable(_)) = (outcome.image, options.settings.image) {
        options.settings.image = ImageKind::Executable;
        check(&[("relocatable".to_owned(), image)], &options);
    }
});
