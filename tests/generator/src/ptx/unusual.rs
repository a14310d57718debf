//! Writes what few programs have.

use crate::feature::Feature;
use crate::plan::{Function, Linkage};
use crate::program::Item;

use super::Writer;
use super::function::{call, word};
use super::parts;

/// What is said of the code around it.
const PRAGMAS: &[&str] = &[
    "\t.pragma \"nounroll\";\n\tadd.u32 %acc, %acc, 3;",
    "\t.pragma \"frequency 10\";\n\txor.b32 %acc, %acc, 5;",
    "\t.reg .b32 %v<4>;\n\t.pragma \"used_bytes_mask 0xfff\";\n\tld.global.v4.b32 {%v0, %v1, %v2, %v3}, [%ptr];\n\tadd.u32 %acc, %v0, %v2;",
    "\tpmevent 3;\n\tpmevent.mask 5;",
];

/// What is said of entries behind their other bounds, and which of these it does not go with.
const BOUNDS: &[(&str, &[&str], u32)] = &[
    (
        " .minnctapersm 3",
        &[".minnctapersm", ".maxnreg", ".explicitcluster"],
        75,
    ),
    (" .maxclusterrank 16", &["cluster"], 90),
    (" .maxnreg 128", &[".maxnreg", ".minnctapersm"], 75),
    (" .reqntid 32, 2, 2", &["ntid"], 75),
];

impl Writer<'_> {
    /// What stands behind the parameters of a function.
    pub(super) fn ending(&self, function: &Function) -> &'static str {
        if function.no_return {
            return " .noreturn";
        }
        // All units say the same of a function.
        let name: usize = function.name.bytes().map(usize::from).sum();
        match (self.plan.has(Feature::Directive), self.plan.units + name) {
            (true, sum) if self.target.number >= 80 && sum.is_multiple_of(6) => " .abi_preserve 12",
            (true, sum) if self.target.number >= 80 && sum % 12 == 1 => " .abi_preserve_control 3",
            _ => "",
        }
    }

    /// More bounds for an entry that has these.
    pub(super) fn further_bounds(&mut self, given: &str) -> &'static str {
        let (text, others, from) = *self.random.pick(BOUNDS);
        let fits = !others.iter().any(|other| given.contains(other));
        match fits && self.target.number >= from && self.random.chance(50) {
            true => text,
            false => "",
        }
    }

    /// The files that are included, and names of functions that are inlined.
    pub(super) fn further_files(&self) -> Vec<Item> {
        if !self.plan.has(Feature::Inlined) {
            return Vec::new();
        }
        let files = format!(
            ".file 2 \"common.h\", 1690000000, 1234\n.file 3 \"include/u{}.h\"",
            self.unit
        );
        let names = ".section .debug_str\n{\ninlined_names:\n\t.b8 95, 90, 52, 104, 101, 108, 112, 0\n\t.b8 111, 116, 104, 101, 114, 0\n}";
        [files, names.to_owned()]
            .map(|text| Item::new(Feature::Inlined, text))
            .into()
    }

    /// Where a statement comes from.
    pub(super) fn location(&mut self, line: usize) -> String {
        let column = 1 + self.random.below(9);
        let own = format!("\t.loc 1 {line} {column}");
        if !self.plan.has(Feature::Inlined) {
            return own;
        }
        let name = *self.random.pick(&["inlined_names", "inlined_names+8"]);
        let inner = 3 + self.random.below(40);
        match self.random.below(4) {
            0 => format!(
                "{own}\n\tadd.u32 %acc, %acc, 1;\n\t.loc 2 {inner} 5, function_name {name}, inlined_at 1 {line} {column}"
            ),
            1 => format!(
                "{own}\n\tadd.u32 %acc, %acc, 1;\n\t.loc 2 {inner} 5, function_name {name}, inlined_at 1 {line} {column}\n\txor.b32 %acc, %acc, 7;\n\t\
                 .loc 3 {column} 1, function_name inlined_names, inlined_at 2 {inner} 5"
            ),
            2 => format!("\t.loc 3 {inner} {column}"),
            _ => own,
        }
    }

    /// What is said of code.
    pub(super) fn directive(&mut self) -> String {
        (*self.random.pick(PRAGMAS)).to_owned()
    }

    /// What hardly any program has.
    pub(super) fn rare(&mut self) -> Option<String> {
        Some(match self.random.below(7) {
            0 => self.variadic(),
            1 => self.other_name()?,
            2 => self.entry_table()?,
            3 => "\t.reg .b64 %s, %n, %a;\n\tstacksave.u64 %s;\n\tcvt.u64.u32 %n, %acc;\n\talloca.u64 %a, %n, 32;\n\t\
                  cvta.local.u64 %a, %a;\n\tst.u32 [%a], %acc;\n\tld.u32 %acc, [%a+4];\n\tstackrestore.u64 %s;"
                .to_owned(),
            4 => self.registers(),
            5 => self.section(),
            _ => self.own_stack(),
        })
    }

    /// A call of a function that takes any number of arguments.
    fn variadic(&mut self) -> String {
        let name = *self.random.pick(&["any_number", "any_more"]);
        let linkage = match name {
            "any_number" => ".weak ",
            _ => "",
        };
        self.need(
            Feature::Rare,
            &format!(
                "{linkage}.func (.param .b32 r) {name} (.param .b32 n, .param .align 8 .b8 rest[])\n{{\n\t.reg .b32 %v, %n;\n\t\
                 ld.param.b32 %n, [n];\n\tld.param.b32 %v, [rest+8];\n\tadd.u32 %v, %v, %n;\n\tst.param.b32 [r], %v;\n\tret;\n}}"
            ),
        );
        let size = 8 * self.random.within(2..=6);
        format!(
            "\t.param .b32 n;\n\t.param .align 8 .b8 rest[{size}];\n\t.param .b32 r;\n\tst.param.b32 [n], %acc;\n\t\
             st.param.b64 [rest], %ptr;\n\tst.param.b32 [rest+8], %acc;\n\tcall (r), {name}, (n, rest);\n\tld.param.b32 %acc, [r];"
        )
    }

    /// A call of a function by another name.
    fn other_name(&mut self) -> Option<String> {
        let unit = self.unit;
        let function = self.some_function_here(|linkage| linkage != Linkage::Common)?;
        let (result, parameters) = parts(&function.signature);
        let name = format!("{}_other{unit}", function.name);
        let declared = self.declare_function(function).head;
        let linkage = *self.random.pick(&[Linkage::Visible, Linkage::Weak]);
        let linkage = word(linkage);
        // One unit gives it one linkage.
        let is_named = |text: &str| text.contains(&format!(".alias {name},"));
        if !self.once.iter().any(|(_, text)| is_named(text)) {
            self.need(
                Feature::Rare,
                &format!(
                    "{declared}\n{linkage}.func {result}{name}{parameters};\n.alias {name}, {};",
                    function.name
                ),
            );
        }
        Some(call(&function.signature, &name, ""))
    }

    /// The address of an entry from a table.
    fn entry_table(&mut self) -> Option<String> {
        let entry = self.entry_here()?;
        let space = *self.random.pick(&["global", "const"]);
        let table = format!("entries_{space}");
        if !self.once.iter().any(|(_, text)| text.contains(&table)) {
            self.need(
                Feature::Rare,
                &format!(".{space} .align 8 .u64 {table}[3] = {{{entry}, 0, {entry}}};"),
            );
        }
        Some(format!(
            "\t.reg .b64 %f;\n\tld.{space}.u64 %f, [{table}+16];\n\tst.global.u64 [%ptr+24], %f;"
        ))
    }

    /// A function whose arguments are registers.
    fn registers(&mut self) -> String {
        let linkage = match self.unit {
            0 => ".visible ",
            _ => "",
        };
        self.need(
            Feature::Rare,
            &format!("{linkage}.func (.reg .b32 r) in_registers (.reg .b32 a, .reg .f64 b)\n{{\n\tcvt.rzi.u32.f64 r, b;\n\tmad.lo.u32 r, a, 7, r;\n\tret;\n}}"),
        );
        "\t.reg .f64 %b;\n\tcvt.rn.f64.u32 %b, %acc;\n\tcall (%acc), in_registers, (%acc, %b);"
            .to_owned()
    }

    /// A section of its own for debuggers.
    fn section(&mut self) -> String {
        self.need(
            Feature::Rare,
            ".global .align 4 .b32 noted;\n.section .debug_notes\n{\n\t.b8 1, 2, 3\n\t.b64 noted\n\t.b32 7\n}",
        );
        "\tatom.global.add.u32 %acc, [noted], 1;".to_owned()
    }

    /// A weak function with an array on the stack and shared memory of its own.
    fn own_stack(&mut self) -> String {
        let size = 16 * (1 + self.unit);
        self.need(
            Feature::Rare,
            &format!(
                ".weak .func (.param .b32 r) own_stack (.param .b32 x)\n{{\n\t.local .align 16 .b8 room[{size}];\n\t.shared .align 8 .b8 cells[{size}];\n\t\
                 .reg .b32 %v;\n\tld.param.b32 %v, [x];\n\tst.local.u32 [room+4], %v;\n\tst.shared.u32 [cells+8], %v;\n\t\
                 bar.sync {};\n\tld.shared.u32 %v, [cells+4];\n\tst.param.b32 [r], %v;\n\tret;\n}}",
                self.unit
            ),
        );
        "\t.param .b32 x;\n\t.param .b32 r;\n\tst.param.b32 [x], %acc;\n\tcall (r), own_stack, (x);\n\tld.param.b32 %acc, [r];"
            .to_owned()
    }

    /// A variable that is a vector or has several dimensions.
    pub(super) fn shaped(&mut self) -> String {
        let (text, get) = *self.random.pick(&[
            (
                ".global .v4 .f32 quarters;",
                "\t.reg .f32 %v<4>;\n\tld.global.v4.f32 {%v0, %v1, %v2, %v3}, [quarters];\n\tcvt.rzi.u32.f32 %acc, %v1;",
            ),
            (
                ".const .v2 .u64 halves[3];",
                "\t.reg .b64 %v<2>;\n\tld.const.v2.u64 {%v0, %v1}, [halves+16];\n\tcvt.u32.u64 %acc, %v1;",
            ),
            (
                ".global .u32 grid[2][3] = {{1, 2, 3}, {4, 5, 6}};",
                "\tld.global.u32 %acc, [grid+12];",
            ),
            (
                ".const .f64 factors[3] = {0d3FF0000000000000, 1.5, -2.0};",
                "\t.reg .f64 %d;\n\tld.const.f64 %d, [factors+8];\n\tcvt.rzi.u32.f64 %acc, %d;",
            ),
            (
                ".shared .align 1024 .b8 page[2048];",
                "\t.reg .b32 %a;\n\tmov.u32 %a, page;\n\tst.shared.u32 [%a+1024], %acc;",
            ),
            (
                ".global .align 2048 .b16 pages[5] = {7};",
                "\t.reg .b16 %h;\n\tld.global.u16 %h, [pages+4];\n\tcvt.u32.u16 %acc, %h;",
            ),
            (
                ".weak .shared .align 16 .b8 weak_cells[40];",
                "\tst.shared.u32 [weak_cells+8], %acc;",
            ),
            (
                ".weak .const .align 4 .b32 weak_numbers[3] = {5, 6};",
                "\tld.const.u32 %acc, [weak_numbers+4];",
            ),
        ]);
        self.need(Feature::Shape, text);
        get.to_owned()
    }

    /// Parameters as memory that has an address.
    pub(super) fn wide(&mut self) -> String {
        match self.random.below(2) {
            0 => "\t.reg .pred %p;\n\tisspacep.param %p, %ptr;\n\t@%p ld.u32 %acc, [%ptr];"
                .to_owned(),
            _ => "\t.reg .b64 %a;\n\tcvta.to.param.u64 %a, %ptr;\n\tld.param.b32 %acc, [%a];"
                .to_owned(),
        }
    }
}
