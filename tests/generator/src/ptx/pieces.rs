//! Statements, each a block that needs only `%acc` and `%ptr`.

use crate::feature::Feature;
use crate::plan::{Function, Space, Variable};

use super::Writer;
use super::function::{call, prototype};

/// The features that are statements.
pub(super) const KINDS: &[Feature] = &[
    Feature::Base,
    Feature::Call,
    Feature::Recursion,
    Feature::Indirect,
    Feature::EntryAddress,
    Feature::Static,
    Feature::Table,
    Feature::Global,
    Feature::Pointer,
    Feature::Byte,
    Feature::Common,
    Feature::Managed,
    Feature::Constant,
    Feature::ModuleShared,
    Feature::FunctionShared,
    Feature::DynamicShared,
    Feature::Frame,
    Feature::Alloca,
    Feature::Print,
    Feature::Heap,
    Feature::Assert,
    Feature::Double,
    Feature::JumpTable,
    Feature::Barrier,
    Feature::Cluster,
    Feature::AsyncCopy,
    Feature::Atomic,
    Feature::Warp,
    Feature::Matrix,
    Feature::FastMath,
    Feature::Special,
    Feature::Tensor,
    Feature::Texture,
    Feature::TextureObject,
    Feature::Sampler,
    Feature::Launch,
    Feature::Directive,
    Feature::Rare,
    Feature::Shape,
    Feature::Wide,
];

impl Writer<'_> {
    /// A statement of this kind in this function, or in an entry. Nothing where the plan has no
    /// symbol for it or the architecture no instruction.
    pub(super) fn piece(&mut self, kind: Feature, function: Option<&Function>) -> Option<String> {
        let rank = function.map_or(0, |function| function.rank);
        Some(match kind {
            Feature::Call => {
                let entry = function.is_none();
                let callee = self.some_function(|f| (entry || f.rank > rank) && !f.unused)?;
                call(&callee.signature, &callee.name, "")
            }
            Feature::Recursion => {
                let callee = self.some_function(|f| f.rank <= rank)?;
                call(&callee.signature, &callee.name, "")
            }
            Feature::Indirect => self.indirect()?,
            Feature::EntryAddress => self.entry_address()?,
            Feature::Static => self.static_variable(),
            Feature::Table => self.table()?,
            Feature::Global
            | Feature::Common
            | Feature::Managed
            | Feature::Pointer
            | Feature::Byte => {
                let variable =
                    self.some_variable(|_, v| v.feature == kind && v.space == Space::Global)?;
                self.access(variable)
            }
            Feature::Constant => {
                let variable = self.some_variable(|_, v| v.space == Space::Constant)?;
                self.access(variable)
            }
            Feature::ModuleShared => {
                let variable = self.some_variable(|_, v| v.space == Space::Shared)?;
                self.access(variable)
            }
            Feature::DynamicShared => {
                let variable = self.some_variable(|_, v| v.space == Space::Dynamic)?;
                self.access(variable)
            }
            Feature::FunctionShared => self.function_shared(),
            Feature::Frame => self.frame(),
            Feature::Alloca => {
                "\t.reg .b64 %a, %n;\n\tcvt.u64.u32 %n, %acc;\n\talloca.u64 %a, %n, 16;\n\t\
                cvta.local.u64 %a, %a;\n\tst.u32 [%a], %acc;\n\tld.u32 %acc, [%a+4];"
                    .to_owned()
            }
            Feature::Print => self.print(),
            Feature::Heap => self.heap(),
            Feature::Assert => self.assert(),
            Feature::Double => self.double(),
            Feature::JumpTable => self.jump_table(),
            Feature::Barrier => self.barrier(),
            Feature::Cluster if self.target.number >= 90 => self.cluster(),
            Feature::AsyncCopy if self.target.number >= 80 => self.async_copy(),
            Feature::Atomic => self.atomic(),
            Feature::Warp => self.warp(),
            Feature::Matrix => self.matrix(),
            Feature::FastMath => self.fast_math(),
            Feature::Special => self.special(),
            Feature::Tensor if self.target.is_specific() => match self.random.chance(50) {
                true => self.tensor(),
                false => self.snippet(kind)?,
            },
            kind if super::snippets::KINDS.contains(&kind) => self.snippet(kind)?,
            Feature::Launch => self.launch()?,
            Feature::Texture => self.texture(),
            Feature::Sampler => self.sampler(),
            Feature::TextureObject => self.texture_object(),
            Feature::Directive => self.directive(),
            Feature::Rare => self.rare()?,
            Feature::Shape => self.shaped(),
            Feature::Wide => self.wide(),
            Feature::Base => self.base(),
            _ => return None,
        })
    }

    /// A call through a pointer, or an address taken that nothing calls.
    fn indirect(&mut self) -> Option<String> {
        let callee = self.some_function(|_| true)?;
        Some(if self.random.chance(20) {
            // The address is taken and nothing calls it here.
            format!(
                "\t.reg .b64 %f;\n\tmov.u64 %f, {};\n\tst.global.u64 [%ptr+8], %f;",
                callee.name
            )
        } else {
            let label = self.label();
            let prototype = prototype(&callee.signature, &label);
            let get = match self.random.chance(60) {
                true => format!("mov.u64 %f, {}", callee.name),
                false => "ld.global.u64 %f, [%ptr+16]".to_owned(),
            };
            let call = call(&callee.signature, "%f", &format!(", {label}"));
            match self.random.chance(20) {
                // The only one that can be meant.
                true => format!(
                    "\t.reg .b64 %f;\n\t{get};\n\t{label}: .calltargets {};\n{call}",
                    callee.name
                ),
                false => format!("\t.reg .b64 %f;\n\t{get};\n{prototype}\n{call}"),
            }
        })
    }

    /// A variable of a function, whose name others have, too.
    fn static_variable(&mut self) -> String {
        let space = *self.random.pick(&[Space::Global, Space::Constant]);
        let name = *self.random.pick(&["calls", "seen", "limits"]);
        let value = match space == Space::Constant || self.random.chance(50) {
            true => " = {3, 1, 4}",
            false => "",
        };
        let offset = 4 * self.random.below(4);
        let access = self.access_place(space, 4, offset, name);
        format!(
            "\t.{} .align 4 .b32 {name}[4]{value};\n{access}",
            space.word()
        )
    }

    /// Shared memory of a function, whose name others have, too.
    fn function_shared(&mut self) -> String {
        let align = 4 << self.random.below(6);
        let size = self.random.within(4..=600);
        let name = *self.random.pick(&["tile", "cache", "s"]);
        let access = self.access_place(Space::Shared, 4, 0, name);
        format!("\t.shared .align {align} .b8 {name}[{size}];\n{access}")
    }

    /// An array on the stack.
    fn frame(&mut self) -> String {
        let align = 4 << self.random.below(4);
        let size = 16 * self.random.within(1..=40);
        format!(
            "\t.local .align {align} .b8 frame[{size}];\n\t.reg .b64 %a, %o;\n\t.reg .b32 %t;\n\tand.b32 %t, %acc, 12;\n\t\
             cvt.u64.u32 %o, %t;\n\tmov.u64 %a, frame;\n\tadd.u64 %a, %a, %o;\n\tst.local.u32 [%a], %acc;\n\t\
             ld.local.u32 %t, [frame+4];\n\tadd.u32 %acc, %acc, %t;"
        )
    }

    /// Memory from `malloc`.
    fn heap(&mut self) -> String {
        self.need(
            Feature::Heap,
            ".extern .func (.param .b64 r) malloc (.param .b64 a);",
        );
        self.need(Feature::Heap, ".extern .func free (.param .b64 a);");
        let free = match self.random.chance(60) {
            true => "\n\t{ .param .b64 b; st.param.b64 [b], %m; call free, (b); }",
            false => "",
        };
        format!(
            "\t.reg .b64 %m;\n\t.param .b64 a;\n\t.param .b64 r;\n\tcvt.u64.u32 %m, %acc;\n\tst.param.b64 [a], %m;\n\t\
             call (r), malloc, (a);\n\tld.param.b64 %m, [r];\n\tst.u32 [%m], %acc;{free}"
        )
    }

    /// An assertion, which the runtime reports.
    fn assert(&mut self) -> String {
        self.need(
            Feature::Assert,
            ".extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);",
        );
        let label = self.label();
        format!(
            "\t.param .b64 a, b, d, e;\n\t.param .b32 c;\n\t.reg .pred %ok;\n\tsetp.lt.u32 %ok, %acc, 77;\n\t@%ok bra {label};\n\t\
             st.param.b64 [a], %ptr;\n\tst.param.b64 [b], %ptr;\n\tst.param.b32 [c], %acc;\n\tst.param.b64 [d], %ptr;\n\t\
             st.param.b64 [e], 1;\n\tcall __assertfail, (a, b, c, d, e);\n{label}:"
        )
        .replace("\t.param .b64 a, b, d, e;", "\t.param .b64 a;\n\t.param .b64 b;\n\t.param .b64 d;\n\t.param .b64 e;")
    }

    /// Waiting for the block, at a barrier of known or unknown number.
    fn barrier(&mut self) -> String {
        let barrier = self.random.below(16);
        match self.random.below(6) {
            0 => format!("\tbar.sync {barrier}, 64;"),
            1 => "\t.reg .b32 %b;\n\tand.b32 %b, %acc, 15;\n\tbarrier.sync %b;".to_owned(),
            2 => format!(
                "\t.reg .pred %p;\n\t.reg .b32 %t;\n\tsetp.ne.u32 %p, %acc, 1;\n\tbar.red.popc.u32 %t, {barrier}, %p;\n\tadd.u32 %acc, %acc, %t;"
            ),
            3 => format!("\tbar.arrive {barrier}, 96;"),
            _ => format!("\tbar.sync {barrier};"),
        }
    }

    /// What clusters of blocks share.
    fn cluster(&mut self) -> String {
        (*self.random.pick(&[
            "\tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;",
            "\t.reg .b32 %t;\n\tmov.u32 %t, %cluster_ctarank;\n\tadd.u32 %acc, %acc, %t;",
            "\t.shared .align 8 .b8 remote[64];\n\t.reg .b32 %t;\n\tmov.u32 %t, remote;\n\tmapa.shared::cluster.u32 %t, %t, 0;\n\tld.shared::cluster.u32 %acc, [%t];",
            "\tgriddepcontrol.wait;",
            "\tgriddepcontrol.launch_dependents;",
            "\t.reg .pred %p;\n\t.reg .b32 %t;\n\telect.sync %t|%p, -1;\n\tadd.u32 %acc, %acc, %t;",
            "\t.reg .b64 %a;\n\tmapa.u64 %a, %ptr, 1;\n\tst.u32 [%a], %acc;",
        ]))
        .to_owned()
    }

    /// Atomic operations and fences.
    fn atomic(&mut self) -> String {
        let scope = *self.random.pick(&["", ".sys", ".gpu", ".cta"]);
        match self.random.below(6) {
            0 => format!(
                "\t.reg .b32 %t;\n\tatom{scope}.global.add.u32 %t, [%ptr], %acc;\n\txor.b32 %acc, %acc, %t;"
            ),
            1 => format!("\tred{scope}.global.add.u32 [%ptr], %acc;"),
            2 => format!(
                "\t.reg .f32 %t;\n\tmov.b32 %t, %acc;\n\tred{scope}.global.add.f32 [%ptr], %t;"
            ),
            3 => format!(
                "\t.reg .f64 %t;\n\tcvt.rn.f64.u32 %t, %acc;\n\tred{scope}.global.add.f64 [%ptr], %t;"
            ),
            4 => format!(
                "\t.reg .b64 %t;\n\tatom{scope}.cas.b64 %t, [%ptr], %ptr, %ptr;\n\tcvt.u32.u64 %acc, %t;"
            ),
            _ => "\tmembar.sys;\n\tfence.acq_rel.gpu;".to_owned(),
        }
    }

    /// What the threads of a warp exchange.
    fn warp(&mut self) -> String {
        let mut choices = vec![
            "shfl.sync.bfly.b32 %t, %acc, 1, 31, -1",
            "shfl.sync.idx.b32 %t, %acc, %acc, 31, -1",
            "activemask.b32 %t",
            "match.any.sync.b32 %t, %acc, -1",
        ];
        if self.target.number >= 80 {
            choices.push("redux.sync.add.s32 %t, %acc, -1");
        }
        match self.random.below(3) {
            0 => "\t.reg .pred %p;\n\t.reg .b32 %t;\n\tsetp.ne.u32 %p, %acc, 9;\n\tvote.sync.ballot.b32 %t, %p, -1;\n\tadd.u32 %acc, %acc, %t;".to_owned(),
            _ => format!("\t.reg .b32 %t;\n\t{};\n\tadd.u32 %acc, %acc, %t;", self.random.pick(&choices)),
        }
    }

    /// A function of the unit for approximations.
    fn fast_math(&mut self) -> String {
        let name = *self.random.pick(&[
            "ex2.approx.f32",
            "ex2.approx.ftz.f32",
            "lg2.approx.f32",
            "sin.approx.f32",
            "rsqrt.approx.f32",
            "rcp.rn.f32",
            "sqrt.rn.f32",
            "tanh.approx.f32",
        ]);
        format!("\t.reg .f32 %t;\n\tmov.b32 %t, %acc;\n\t{name} %t, %t;\n\tmov.b32 %acc, %t;")
    }

    /// A special register.
    fn special(&mut self) -> String {
        let mut names = vec![
            "%laneid",
            "%smid",
            "%ctaid.x",
            "%ctaid.y",
            "%ctaid.z",
            "%ntid.x",
            "%tid.z",
            "%nctaid.z",
            "%dynamic_smem_size",
            "%total_smem_size",
            "%envreg3",
            "%gridid",
            "%lanemask_lt",
            "%warpid",
        ];
        if self.target.number >= 80 {
            names.push("%reserved_smem_offset_begin");
        }
        match *self.random.pick(&names) {
            "%gridid" => {
                "\t.reg .b64 %t;\n\tmov.u64 %t, %gridid;\n\tcvt.u32.u64 %acc, %t;".to_owned()
            }
            name => format!("\t.reg .b32 %t;\n\tmov.b32 %t, {name};\n\tadd.u32 %acc, %acc, %t;"),
        }
    }

    /// Arithmetic and global memory.
    fn base(&mut self) -> String {
        match self.random.below(4) {
            0 => format!("\tmul.lo.u32 %acc, %acc, {};", self.random.below(100_000)),
            1 => "\t.reg .b32 %t;\n\tld.global.u32 %t, [%ptr+4];\n\tadd.u32 %acc, %acc, %t;"
                .to_owned(),
            2 => "\t.reg .b32 %t;\n\tpopc.b32 %t, %acc;\n\tdiv.u32 %acc, %acc, %t;".to_owned(),
            _ => "\tst.global.u32 [%ptr+12], %acc;".to_owned(),
        }
    }

    /// A call through an element of a table.
    fn table(&mut self) -> Option<String> {
        let table = self.some_variable(|_, v| v.signature.is_some())?;
        let signature = table.signature.as_ref()?;
        let label = self.label();
        let prototype = prototype(signature, &label);
        let call = call(signature, "%f", &format!(", {label}"));
        Some(format!(
            "\t.reg .b64 %f;\n\tld.{}.u64 %f, [{}+{}];\n{prototype}\n{call}",
            table.space.word(),
            table.name,
            8 * self.random.below(table.count)
        ))
    }

    /// Reads or writes a variable or takes its address.
    fn access(&mut self, variable: &Variable) -> String {
        let count = if variable.space == Space::Dynamic {
            4
        } else {
            variable.count
        };
        let offset = variable.width * self.random.below(count);
        self.access_place(variable.space, variable.width, offset, &variable.name)
    }

    fn access_place(&mut self, space: Space, width: usize, offset: usize, name: &str) -> String {
        let word = space.word();
        let kind = ["u8", "u16", "", "u32", "", "", "", "u64"][width - 1];
        let register = match width {
            1 | 2 => "b16",
            4 => "b32",
            _ => "b64",
        };
        let mix = match width {
            4 => "add.u32 %acc, %acc, %v".to_owned(),
            8 => "cvt.u32.u64 %acc, %v".to_owned(),
            _ => "cvt.u32.u16 %acc, %v".to_owned(),
        };
        let writable = space != Space::Constant;
        match self.random.below(8) {
            0 | 1 if writable => {
                let set = match width {
                    4 => "mov.b32 %v, %acc".to_owned(),
                    8 => "mov.b64 %v, %ptr".to_owned(),
                    _ => "cvt.u16.u32 %v, %acc".to_owned(),
                };
                format!(
                    "\t.reg .{register} %v;\n\t{set};\n\tst.{word}.{kind} [{name}+{offset}], %v;"
                )
            }
            2 | 3 => format!(
                "\t.reg .b64 %a;\n\t.reg .{register} %v;\n\tmov.u64 %a, {name};\n\tld.{word}.{kind} %v, [%a+{offset}];\n\t{mix};"
            ),
            4 => format!(
                "\t.reg .b64 %a;\n\t.reg .{register} %v;\n\tcvta.{word}.u64 %a, {name};\n\tld.{kind} %v, [%a+{offset}];\n\t{mix};"
            ),
            5 if space.is_shared() => format!(
                "\t.reg .b32 %a;\n\t.reg .{register} %v;\n\tmov.u32 %a, {name};\n\tadd.u32 %a, %a, %acc;\n\tld.shared.{kind} %v, [%a];\n\t{mix};"
            ),
            5 => format!(
                "\t.reg .b64 %a, %o;\n\t.reg .{register} %v;\n\tmul.wide.u32 %o, %acc, {width};\n\tmov.u64 %a, {name};\n\tadd.u64 %a, %a, %o;\n\t\
                 ld.{word}.{kind} %v, [%a];\n\t{mix};"
            ),
            6 if writable && width >= 4 => format!(
                "\t.reg .{register} %v;\n\tatom.{word}.exch.b{} %v, [{name}+{offset}], 5;\n\t{mix};",
                8 * width
            ),
            _ => format!(
                "\t.reg .{register} %v;\n\tld.{word}.{kind} %v, [{name}+{offset}];\n\t{mix};"
            ),
        }
    }

    fn print(&mut self) -> String {
        self.need(
            Feature::Print,
            ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);",
        );
        let name = *self.random.pick(&["$str", "$str$1", "fmt"]);
        self.need(
            Feature::Print,
            &format!(".global .align 1 .b8 {name}[4] = {{37, 117, 10, 0}};"),
        );
        format!(
            "\t.local .align 8 .b8 values[8];\n\t.reg .b64 %a, %b;\n\tmov.u64 %b, values;\n\tst.local.u32 [%b], %acc;\n\t\
             cvta.local.u64 %b, %b;\n\tmov.u64 %a, {name};\n\tcvta.global.u64 %a, %a;\n\t.param .b64 a;\n\t.param .b64 b;\n\t\
             .param .b32 r;\n\tst.param.b64 [a], %a;\n\tst.param.b64 [b], %b;\n\tcall.uni (r), vprintf, (a, b);\n\t\
             ld.param.b32 %acc, [r];"
        )
    }

    fn double(&mut self) -> String {
        let constant = |random: &mut rustnvlink_tests::random::Random| {
            format!(
                "0d3FF{:05X}{:08X}",
                random.below(1 << 20),
                random.below(1 << 32)
            )
        };
        let (a, b) = (constant(self.random), constant(self.random));
        let operation = match self.random.below(7) {
            0 => "div.rn.f64 %d, %d, %e;".to_owned(),
            1 => "sqrt.rn.f64 %d, %d;".to_owned(),
            2 => "rcp.rn.f64 %d, %d;".to_owned(),
            3 => format!("mul.rn.f64 %d, %d, {a};"),
            4 => format!("add.rn.f64 %d, %d, {a};"),
            _ => format!("fma.rn.f64 %d, %d, {a}, {b};"),
        };
        format!(
            "\t.reg .f64 %d, %e;\n\tcvt.rn.f64.u32 %d, %acc;\n\tadd.rn.f64 %e, %d, {b};\n\t{operation}\n\tcvt.rzi.u32.f64 %acc, %d;"
        )
    }

    fn jump_table(&mut self) -> String {
        let count = self.random.within(2..=12);
        let (table, end) = (self.label(), self.label());
        let targets: Vec<String> = (0..count).map(|_| self.label()).collect();
        let mut text = format!(
            "\t.reg .b32 %i;\n\trem.u32 %i, %acc, {count};\n\t{table}: .branchtargets {};\n\tbrx.idx %i, {table};\n",
            targets.join(", ")
        );
        for (index, target) in targets.iter().enumerate() {
            text.push_str(&format!(
                "{target}:\n\tmad.lo.u32 %acc, %acc, {}, {index};\n\tst.global.u32 [%ptr+{}], %acc;\n\tbra.uni {end};\n",
                3 + self.random.below(1000),
                4 * index
            ));
        }
        text.push_str(&format!("{end}:"));
        text
    }

    fn async_copy(&mut self) -> String {
        let barrier = "\t.shared .align 8 .b64 arrived;\n\t.reg .b64 %s;\n\tmbarrier.init.shared.b64 [arrived], 1;\n\tmbarrier.arrive.shared.b64 %s, [arrived];";
        let copied = "\t.shared .align 16 .b8 buffer[256];\n\t.reg .b32 %d;\n\tmov.u32 %d, buffer;";
        let wait = "\t.reg .pred %p;\n\tmbarrier.test_wait.shared.b64 %p, [arrived], %s;";
        match self.random.below(4) {
            0 => format!("{barrier}\n{wait}"),
            1 => format!(
                "{copied}\n\tcp.async.ca.shared.global [%d], [%ptr], 4;\n\tcp.async.commit_group;\n\tcp.async.wait_group 0;"
            ),
            2 if self.target.number >= 90 => format!(
                "{barrier}\n{copied}\n\tcp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%d], [%ptr], 16, [arrived];\n{wait}"
            ),
            3 if self.target.number >= 90 => format!(
                "{copied}\n\tcp.async.bulk.global.shared::cta.bulk_group [%ptr], [%d], 32;\n\tcp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;"
            ),
            _ => format!("{barrier}\n\tcp.async.mbarrier.arrive.shared.b64 [arrived];\n{wait}"),
        }
    }

    fn matrix(&mut self) -> String {
        let floats = "\t.reg .b32 %c<4>;\n\t.reg .f32 %f<4>;\n\tmov.b32 %c0, %acc;\n\tmov.b32 %c1, %acc;\n\tmov.b32 %c2, 0;\n\tmov.b32 %c3, %acc;\n\t\
            mov.b32 %f0, %acc;\n\tmov.b32 %f1, %acc;\n\tmov.b32 %f2, %acc;\n\tmov.b32 %f3, %acc;\n";
        let operation = match (self.random.below(6), self.target.number >= 80) {
            (0 | 1, _) => {
                "\tmma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%c0, %c1}, {%c0}, {%f0, %f1, %f2, %f3};"
            }
            (2, true) => {
                "\tmma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%c0, %c1}, {%c0, %c1}, {%f0, %f1, %f2, %f3}, %c2, 0x0;"
            }
            (3, true) => {
                return "\t.reg .f64 %d<4>;\n\tcvt.rn.f64.u32 %d0, %acc;\n\tmov.f64 %d1, %d0;\n\tmov.f64 %d2, %d0;\n\t\
                    mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d0, %d1}, {%d2}, {%d2}, {%d0, %d1};\n\tcvt.rzi.u32.f64 %acc, %d1;"
                    .to_owned();
            }
            (4, true) => {
                "\tmma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, {%c0, %c1, %c2, %c3}, {%c0, %c1}, {%f0, %f1, %f2, %f3};"
            }
            _ => {
                return "\t.reg .b32 %c<2>;\n\tmov.b32 %c0, %acc;\n\tmov.b32 %c1, %acc;\n\t\
                    mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.s8.s32 {%c0, %c1}, {%c0}, {%c1}, {%c0, %c1};\n\tmov.b32 %acc, %c1;"
                    .to_owned();
            }
        };
        format!("{floats}{operation}\n\tmov.b32 %acc, %f1;")
    }

    fn tensor(&mut self) -> String {
        match self.target.number {
            90 => "\twgmma.fence.sync.aligned;\n\twgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;".to_owned(),
            100..=119 => {
                let group = self.pair();
                format!(
                    "\t.shared .align 8 .b32 taken;\n\t.reg .b32 %s, %t;\n\tmov.u32 %s, taken;\n\t\
                     tcgen05.alloc.cta_group::{group}.sync.aligned.shared::cta.b32 [%s], 32;\n\tld.shared.u32 %t, [%s];\n\t\
                     tcgen05.dealloc.cta_group::{group}.sync.aligned.b32 %t, 32;\n\t\
                     tcgen05.relinquish_alloc_permit.cta_group::{group}.sync.aligned;"
                )
            }
            _ => "\t.reg .b32 %t;\n\tmov.u32 %t, %laneid;\n\tadd.u32 %acc, %acc, %t;".to_owned(),
        }
    }
}
