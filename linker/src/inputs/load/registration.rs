//! The modules of a link, for the host stub that registers them.

use super::super::modules::Module;

/// Modules, as they are found.
#[derive(Debug, Default)]
pub(super) struct Registration {
    /// Those whose order is that of the inputs.
    modules: Vec<Row>,
    /// Further ones of single objects; nvlink registers them last, and the
    /// last one first.
    further: Vec<Module>,
}

#[derive(Debug)]
struct Row {
    module: Module,
    holds: Holds,
}

/// What code a module has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    MachineCode,
    LtoIr,
}

/// Which modules come last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    /// Further ones of single objects.
    Further,
    /// Behind them those of LTO-IR: for nvlink, where that was all of the program.
    LtoIr,
}

impl Registration {
    /// Adds the module of an input.
    pub(super) fn add(&mut self, module: Module, holds: Holds) {
        self.modules.push(Row { module, holds });
    }

    /// Adds the modules of an input that has several, but for the first.
    pub(super) fn add_further(&mut self, modules: impl Iterator<Item = Module>) {
        self.further.extend(modules);
    }

    /// All modules in their order.
    pub(super) fn finish(self, last: Last) -> Vec<Module> {
        let Self { modules, further } = self;
        let (moved, kept): (Vec<Row>, Vec<Row>) = modules
            .into_iter()
            .partition(|row| last == Last::LtoIr && row.holds == Holds::LtoIr);
        let mut behind = further;
        behind.extend(moved.into_iter().map(|row| row.module));
        let kept = kept.into_iter().map(|row| row.module);
        kept.chain(behind.into_iter().rev()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(last: Last, expected: &str) {
        let module = |name: &str| Module::Named(name.to_owned());
        let mut registration = Registration::default();
        for (name, holds) in [
            ("a", Holds::LtoIr),
            ("b", Holds::MachineCode),
            ("c", Holds::LtoIr),
            ("d", Holds::MachineCode),
        ] {
            registration.add(module(name), holds);
        }
        registration.add_further(["x", "y"].map(module).into_iter());
        let modules = registration.finish(last);
        let names = modules.iter().map(|module| match module {
            Module::Named(name) | Module::Unnamed(name) => name.as_str(),
        });
        let names: Vec<&str> = names.collect();
        assert_eq!(names.join(" "), expected);
    }

    #[test]
    fn what_comes_last_is_reversed() {
        check(Last::Further, "a b c d y x");
        check(Last::LtoIr, "b d c a y x");
    }
}
