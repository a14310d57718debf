//! Writes launches, and addresses of entries for them.

use crate::feature::Feature;
use crate::plan::Home;

use super::Writer;
use super::function::word;

/// The functions of the device runtime that launches call.
const RUNTIME: [&str; 3] = [
    ".extern .func (.param .b64 r) cudaGetParameterBufferV2 \
     (.param .b64 a, .param .align 4 .b8 b[12], .param .align 4 .b8 c[12], .param .b32 d);",
    ".extern .func (.param .b32 r) cudaLaunchDeviceV2 (.param .b64 a, .param .b64 b);",
    ".extern .func (.param .b32 r) cudaGetLastError ();",
];

impl Writer<'_> {
    /// An entry of this unit that takes one address, declared. Nothing where there is none.
    pub(super) fn entry_here(&mut self) -> Option<String> {
        let unit = self.unit;
        let here: Vec<(&str, Home)> = self
            .plan
            .entries
            .iter()
            .filter(|entry| entry.signature.parameters.is_empty())
            .filter_map(|entry| {
                let home = entry.homes.iter().find(|home| home.unit == unit)?;
                Some((&*entry.name, *home))
            })
            .collect();
        if here.is_empty() {
            return None;
        }
        let (entry, home) = *self.random.pick(&here);
        let linkage = word(home.linkage);
        self.need(
            Feature::EntryAddress,
            &format!("{linkage}.entry {entry}(.param .b64 out);"),
        );
        Some(entry.to_owned())
    }

    /// The address of an entry, which launches take.
    pub(super) fn entry_address(&mut self) -> Option<String> {
        let entry = self.entry_here()?;
        Some(format!(
            "\t.reg .b64 %f;\n\tmov.u64 %f, {entry};\n\tst.global.u64 [%ptr+24], %f;"
        ))
    }

    /// A launch as the compiler makes it: memory for the parameters, which the code fills, then the launch.
    pub(super) fn launch(&mut self) -> Option<String> {
        let entry = self.entry_here()?;
        for function in RUNTIME {
            self.need(Feature::Launch, function);
        }
        let store = |name: &str, values: [&str; 3]| -> String {
            let all = values.iter().enumerate();
            all.map(|(at, value)| format!("\tst.param.b32 [{name}+{}], {value};\n", 4 * at))
                .collect()
        };
        let result = match self.random.chance(40) {
            true => {
                "\t{\n\t.param .b32 r;\n\tcall (r), cudaGetLastError;\n\tld.param.b32 %acc, [r];\n\t}"
            }
            false => "\txor.b32 %acc, %acc, %e;",
        };
        Some(format!(
            "\t.reg .b64 %k, %b;\n\t.reg .b32 %e;\n\tmov.u64 %k, {entry};\n\t{{\n\t.param .b64 a;\n\t\
             .param .align 4 .b8 b[12];\n\t.param .align 4 .b8 c[12];\n\t.param .b32 d;\n\t.param .b64 r;\n\t\
             st.param.b64 [a], %k;\n{}{}\tst.param.b32 [d], 0;\n\t\
             call (r), cudaGetParameterBufferV2, (a, b, c, d);\n\tld.param.b64 %b, [r];\n\t}}\n\t\
             st.u64 [%b], %ptr;\n\t{{\n\t.param .b64 a;\n\t.param .b64 b;\n\t.param .b32 r;\n\t\
             st.param.b64 [a], %b;\n\tst.param.b64 [b], 0;\n\tcall (r), cudaLaunchDeviceV2, (a, b);\n\t\
             ld.param.b32 %e, [r];\n\t}}\n{result}",
            store("b", ["%acc", "1", "1"]),
            store("c", ["64", "1", "1"]),
        ))
    }
}
