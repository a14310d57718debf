//! Writes functions and entries.

use crate::feature::Feature;
use crate::plan::{Function, Home, Linkage, Signature, Type};
use crate::program::{Item, Piece};
use crate::unified;

use super::{Writer, parameter, parts};

/// Registers that all functions have. `%acc` carries a value through all pieces, `%ptr` some address.
const REGISTERS: &str =
    "\t.reg .b32 %acc;\n\t.reg .b64 %ptr;\n\tmov.u64 %ptr, %clock64;\n\tmov.u32 %acc, %clock;";

impl Writer<'_> {
    /// Declares a function, defined here or elsewhere.
    pub(super) fn declare_function(&self, function: &Function) -> Item {
        let (result, parameters) = parts(&function.signature);
        let linkage = match self.home(&function.homes) {
            Some(home) => word(home.linkage),
            None => ".extern ",
        };
        Item::new(
            Feature::Base,
            format!(
                "{linkage}.func{} {result}{}{parameters}{};",
                unified::attribute(function.unified, true),
                function.name,
                self.ending(function)
            ),
        )
    }

    /// Defines a function.
    pub(super) fn function(&mut self, function: &Function, home: Home) -> Item {
        let (result, parameters) = parts(&function.signature);
        let mut head = format!(
            "{}.func{} {result}{}{parameters}{}\n{{\n{REGISTERS}",
            word(home.linkage),
            unified::attribute(function.unified, true),
            function.name,
            self.ending(function)
        );
        for (index, kind) in function.signature.parameters.iter().enumerate() {
            head.push('\n');
            head.push_str(&self.fold(*kind, &format!("p{index}")));
        }
        let pieces = self.body(Some(function));
        let result = match function.signature.result {
            Some(kind) => format!("{}\n", give(kind, "result")),
            None => "\tst.global.u32 [%ptr], %acc;\n".to_owned(),
        };
        let last = if function.no_return { "trap" } else { "ret" };
        Item {
            feature: match home.linkage {
                _ if function.no_return => Feature::NoReturn,
                Linkage::Weak => Feature::Weak,
                Linkage::Static => Feature::Static,
                Linkage::Visible | Linkage::Common => Feature::Base,
            },
            head,
            pieces,
            tail: format!("{result}\t{last};\n}}"),
        }
    }

    /// Defines an entry.
    pub(super) fn entry(&mut self, function: &Function, home: Home) -> Item {
        let mut parameters = vec![".param .b64 out".to_owned()];
        for (index, kind) in function.signature.parameters.iter().enumerate() {
            let name = format!("p{index}");
            parameters.push(match kind {
                Type::B64 if self.random.chance(40) => {
                    let pointer = self.random.pick(&[
                        ".ptr .global .align 16",
                        ".ptr .align 4",
                        ".ptr .shared .align 8",
                    ]);
                    format!(".param .b64 {pointer} {name}")
                }
                _ => parameter(*kind, &name),
            });
        }
        let (feature, bounds) = self.bounds();
        let mut head = format!(
            "{}.entry {}({}){bounds}\n{{\n{REGISTERS}\n\tld.param.u64 %ptr, [out];",
            word(home.linkage),
            function.name,
            parameters.join(", ")
        );
        for (index, kind) in function.signature.parameters.iter().enumerate() {
            if self.random.chance(60) {
                head.push('\n');
                head.push_str(&self.fold(*kind, &format!("p{index}")));
            }
        }
        Item {
            feature,
            head,
            pieces: self.body(None),
            tail: "\tst.global.u32 [%ptr], %acc;\n\tret;\n}".to_owned(),
        }
    }

    fn bounds(&mut self) -> (Feature, String) {
        let mut text = String::new();
        let mut feature = Feature::Base;
        if self.plan.has(Feature::Bounds) && self.random.chance(60) {
            feature = Feature::Bounds;
            let bounds: &[&str] = &[
                " .maxntid 128, 1, 1",
                " .maxntid 256, 1, 1 .minnctapersm 2",
                " .reqntid 64, 2, 1",
                " .maxnreg 64",
                " .maxntid 32, 4, 2 .maxnreg 96",
                " .maxntid 1024, 1, 1",
            ];
            let chosen = *self.random.pick(bounds);
            text.push_str(chosen);
        }
        if self.plan.has(Feature::Cluster) && self.target.number >= 90 && self.random.chance(50) {
            feature = Feature::Cluster;
            let bounds: &[&str] = &[
                " .explicitcluster",
                " .explicitcluster .reqnctapercluster 2, 1, 1",
                " .reqnctapercluster 4",
                " .maxclusterrank 8",
                " .reqntid 32, 1, 1 .reqnctapercluster 2, 1, 1 .blocksareclusters",
            ];
            let chosen = *self.random.pick(bounds);
            if chosen.contains(".reqntid") {
                text.clear();
            }
            text.push_str(chosen);
        }
        if self.plan.has(Feature::Directive) {
            text.push_str(self.further_bounds(&text));
        }
        (feature, text)
    }

    /// Mixes a parameter into `%acc`.
    fn fold(&mut self, kind: Type, name: &str) -> String {
        match kind {
            Type::B64 if self.random.chance(50) => format!("\tld.param.b64 %ptr, [{name}];"),
            _ => take(kind, name),
        }
    }

    fn body(&mut self, function: Option<&Function>) -> Vec<Piece> {
        let kinds: Vec<Feature> = super::pieces::KINDS
            .iter()
            .chain(super::snippets::KINDS)
            .copied()
            .filter(|kind| self.plan.has(*kind))
            .collect();
        let count = match self.random.below(4) {
            0 => self.random.within(0..=2),
            1 | 2 => self.random.within(1..=5),
            _ => self.random.within(4..=10),
        };
        let mut pieces = Vec::new();
        for line in 0..count {
            // Calls make a program of its units.
            let kind = match self.plan.has(Feature::Call) && self.random.chance(30) {
                true => Feature::Call,
                false => *self.random.pick(&kinds),
            };
            let text = match self.piece(kind, function) {
                Some(text) => Piece::new(kind, self.wrap(kind, text)),
                None => continue,
            };
            pieces.push(match self.lines {
                true => Piece::new(
                    text.feature,
                    format!("{}\n{}", self.location(10 + line), text.text),
                ),
                false => text,
            });
        }
        pieces
    }

    /// Puts a condition or a loop around some pieces.
    fn wrap(&mut self, kind: Feature, text: String) -> String {
        let block = format!("\t{{\n{text}\n\t}}");
        if matches!(kind, Feature::JumpTable | Feature::Tensor) {
            return block;
        }
        match self.random.below(8) {
            0 => {
                let label = self.label();
                format!(
                    "\t{{\n\t.reg .pred %skip;\n\tsetp.eq.u32 %skip, %acc, {};\n\t@%skip bra {label};\n{block}\n{label}:\n\t}}",
                    self.random.below(100)
                )
            }
            1 => {
                let label = self.label();
                format!(
                    "\t{{\n\t.reg .pred %more;\n\t.reg .b32 %n;\n\tmov.u32 %n, 0;\n{label}:\n{block}\n\tadd.u32 %n, %n, 1;\n\tsetp.lt.u32 %more, %n, %acc;\n\t@%more bra {label};\n\t}}"
                )
            }
            _ => block,
        }
    }
}

/// How a definition is seen, before it.
pub(super) fn word(linkage: Linkage) -> &'static str {
    match linkage {
        Linkage::Visible | Linkage::Common => ".visible ",
        Linkage::Weak => ".weak ",
        Linkage::Static => "",
    }
}

/// Mixes a value that was received into `%acc`.
pub(super) fn take(kind: Type, name: &str) -> String {
    match kind {
        Type::B32 => {
            format!("\t{{ .reg .b32 %t; ld.param.b32 %t, [{name}]; xor.b32 %acc, %acc, %t; }}")
        }
        Type::B64 => format!(
            "\t{{ .reg .b64 %t; .reg .b32 %u; ld.param.b64 %t, [{name}]; cvt.u32.u64 %u, %t; add.u32 %acc, %acc, %u; }}"
        ),
        Type::F32 => format!(
            "\t{{ .reg .f32 %t; .reg .b32 %u; ld.param.f32 %t, [{name}]; mov.b32 %u, %t; add.u32 %acc, %acc, %u; }}"
        ),
        Type::F64 => format!(
            "\t{{ .reg .f64 %t; .reg .b32 %u<2>; ld.param.f64 %t, [{name}]; mov.b64 {{%u0, %u1}}, %t; add.u32 %acc, %u0, %u1; }}"
        ),
        Type::Bytes(size, _) => format!(
            "\t{{ .reg .b16 %t; .reg .b32 %u; ld.param.b8 %t, [{name}+{}]; cvt.u32.u16 %u, %t; add.u32 %acc, %acc, %u; }}",
            size - 1
        ),
    }
}

/// Stores a value that depends on `%acc`.
pub(super) fn give(kind: Type, name: &str) -> String {
    match kind {
        Type::B32 => format!("\tst.param.b32 [{name}], %acc;"),
        Type::B64 => format!("\tst.param.b64 [{name}], %ptr;"),
        Type::F32 => format!("\t{{ .reg .f32 %t; mov.b32 %t, %acc; st.param.f32 [{name}], %t; }}"),
        Type::F64 => {
            format!("\t{{ .reg .f64 %t; cvt.rn.f64.u32 %t, %acc; st.param.f64 [{name}], %t; }}")
        }
        Type::Bytes(size, _) => {
            format!(
                "\t{{ .reg .b16 %t; cvt.u16.u32 %t, %acc; st.param.b8 [{name}+{}], %t; }}",
                size - 1
            )
        }
    }
}

/// A call of `callee`, which is a name or a register. `after` names the prototype.
pub(super) fn call(signature: &Signature, callee: &str, after: &str) -> String {
    let mut text = String::new();
    let mut names = Vec::new();
    for (index, kind) in signature.parameters.iter().enumerate() {
        let name = format!("a{index}");
        text.push_str(&format!("\t{};\n", parameter(*kind, &name)));
        text.push_str(&give(*kind, &name));
        text.push('\n');
        names.push(name);
    }
    let (before, take) = match signature.result {
        Some(kind) => {
            text.push_str(&format!("\t{};\n", parameter(kind, "r")));
            ("(r), ", take(kind, "r"))
        }
        None => ("", String::new()),
    };
    text.push_str(&format!(
        "\tcall {before}{callee}, ({}){after};\n{take}",
        names.join(", ")
    ));
    text
}

/// A prototype under a label.
pub(super) fn prototype(signature: &Signature, label: &str) -> String {
    let result = match signature.result {
        Some(kind) => format!("({}) ", parameter(kind, "_")),
        None => String::new(),
    };
    let parameters: Vec<_> = signature
        .parameters
        .iter()
        .map(|kind| parameter(*kind, "_"))
        .collect();
    format!(
        "\t{label}: .callprototype {result}_ ({});",
        parameters.join(", ")
    )
}
