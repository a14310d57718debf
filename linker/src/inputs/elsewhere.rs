//! Modules whose linked code is in some input.

use std::collections::HashSet;

use super::Behaviour;
use super::files::{Files, Opened};
use super::host;
use crate::container::{HostFile, InputKind, archive, detect};
use crate::error::ParseError;

/// The modules whose linked code is in some input: what is left of them waits
/// for no link.
pub(super) fn linked_elsewhere(files: &Files, behaviour: Behaviour) -> HashSet<&str> {
    let mut linked = HashSet::new();
    let mut object = |data| {
        // Few files hold any, and to read all of a file takes long.
        if HostFile::may_be_linked(data)
            && let Ok(file) = HostFile::parse(data)
        {
            linked.extend(host::linked_in(&file, behaviour));
        }
    };
    for opened in &files.0 {
        let Opened::Read(source) = opened else {
            continue;
        };
        match detect(&source.data) {
            InputKind::HostObject => object(&source.data),
            InputKind::Archive => {
                for member in source.members.iter().filter_map(|m| m.data.as_ref().ok()) {
                    object(member);
                }
                let visited = archive::walk(&source.name, &source.data, &mut |_, member| {
                    if let Some(data) = member.data {
                        object(data);
                    }
                    Ok::<(), ParseError>(())
                });
                // Damage is reported when the archive's turn comes.
                drop(visited);
            }
            _ => {}
        }
    }
    linked
}
