//! The sections no text asks for: info, call graph, prototypes, notes and
//! relocations.

use std::collections::BTreeMap;

use rustnvlink::arch::relocation::RelocationType;
use rustnvlink::cubin::{
    Attribute, Binding, CallGraph, DeviceNote, Edge, InfoCode, InfoRecord, Note, NoteKind,
    Parameter, Prototype, Relocation, SectionFlags, SectionType, Signature, ToolNote,
};

use crate::TextError;
use crate::build::{Builder, Draft, Number, SYMBOLS, bank_of, fail, parameter_base, parameters};
use crate::source::{Function, InfoValue, RelocationLine};

/// The toolkit version the objects claim.
const TOOLKIT: u16 = 130;

impl<'t> Builder<'_, 't> {
    pub(super) fn metadata_sections(&mut self) -> Result<(), TextError> {
        let mut graph = CallGraph::default();
        let mut module = Vec::new();
        let mut prototypes = Vec::new();
        for function in &self.source.functions {
            let number = self.number(0, function.name)?;
            for callee in &function.calls {
                let to = self.number(0, callee)?;
                graph.calls.push(Edge { from: number, to });
            }
            for target in &function.address_references {
                let to = self.number(0, target)?;
                graph.address_references.push(Edge { from: number, to });
                let taken = self.source.functions.iter().find(|f| f.name == *target);
                let prototype = self.strings.add(taken.map_or("", |f| f.prototype));
                let signature = Signature {
                    function: to,
                    prototype,
                };
                if !graph.address_taken.contains(&signature) {
                    graph.address_taken.push(signature);
                }
            }
            for prototype in &function.indirect_calls {
                let prototype = self.strings.add(prototype);
                graph.indirect_calls.push(Signature {
                    function: number,
                    prototype,
                });
            }
            if !function.is_entry && function.binding != Binding::LOCAL {
                let text = self.strings.add(function.prototype);
                prototypes.push(Prototype {
                    function: number,
                    text,
                });
            }
            if function.is_defined {
                self.module_info(function, number, &mut module);
                self.function_info(function)?;
            }
        }
        prototypes.retain(|p| !graph.address_taken.iter().any(|t| t.function == p.function));

        let mut info = Draft::new(".nv.info", SectionType::CUDA_INFO, 4);
        info.link = Number::Fixed(SYMBOLS);
        info.bytes = module;
        self.sections.push(info);
        let mut calls = Draft::new(".nv.callgraph", SectionType::CUDA_CALLGRAPH, 4);
        calls.link = Number::Fixed(SYMBOLS);
        calls.entry_size = 8;
        calls.bytes = graph.encode();
        self.sections.push(calls);
        if !prototypes.is_empty() {
            let mut draft = Draft::new(".nv.prototype", SectionType::CUDA_PROTOTYPE, 4);
            draft.link = Number::Fixed(SYMBOLS);
            draft.entry_size = 8;
            prototypes.iter().for_each(|p| p.encode(&mut draft.bytes));
            self.sections.push(draft);
        }
        Ok(())
    }

    fn module_info(&self, function: &Function<'_>, number: u32, out: &mut Vec<u8>) {
        let mut record = |code, value: u32| {
            let words = [number.to_le_bytes(), value.to_le_bytes()].concat();
            InfoRecord::sized(code, &words)
                .expect("two words are short")
                .encode(out);
        };
        record(InfoCode::REGCOUNT, function.registers);
        record(InfoCode::MAX_STACK_SIZE, function.frame);
        record(InfoCode::FRAME_SIZE, function.frame);
    }

    fn function_info(&mut self, function: &Function<'_>) -> Result<(), TextError> {
        let mut draft = Draft::new(
            format!(".nv.info.{}", function.name),
            SectionType::CUDA_INFO,
            4,
        );
        draft.flags = SectionFlags::INFO_LINK;
        draft.link = Number::Fixed(SYMBOLS);
        draft.info = Number::Section(format!(".text.{}", function.name));
        let out = &mut draft.bytes;
        let sized = |code, words: &[u32], out: &mut Vec<u8>| {
            let payload: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            match InfoRecord::sized(code, &payload) {
                Some(record) => {
                    record.encode(out);
                    Ok(())
                }
                None => fail(0, format!("{code} of {} is too long", function.name)),
            }
        };
        sized(InfoCode::CUDA_API_VERSION, &[TOOLKIT.into()], out)?;
        let base = parameter_base(self.target);
        let mut size = 0;
        if function.is_entry {
            let all: Vec<_> = parameters(function).collect();
            size = all
                .last()
                .map_or(0, |(offset, size)| offset + u64::from(*size));
            if size > 0x1000 {
                return fail(0, format!("parameters of {} are too long", function.name));
            }
            for (ordinal, (offset, size)) in all.into_iter().enumerate().rev() {
                let parameter = Parameter {
                    index: 0,
                    ordinal: ordinal as u16,
                    offset: offset as u16,
                    log_alignment: 0,
                    space: 0,
                    bank: 31,
                    in_shared_memory: false,
                    size,
                };
                let payload = Attribute::Parameter(parameter).encode();
                InfoRecord::sized(InfoCode::KPARAM_INFO, &payload)
                    .expect("a parameter is short")
                    .encode(out);
            }
            InfoRecord::half(InfoCode::MAXREG_COUNT, 0xff).encode(out);
        }
        let undefined = |name: &&str| {
            let declared = self.source.functions.iter().find(|f| f.name == *name);
            declared.is_some_and(|f| !f.is_defined)
        };
        let externs: Vec<u32> = function
            .calls
            .iter()
            .filter(|name| undefined(name))
            .map(|name| self.number(0, name))
            .collect::<Result<_, _>>()?;
        if !externs.is_empty() {
            sized(InfoCode::EXTERNS, &externs, out)?;
        }
        for info in &function.info {
            match &info.value {
                InfoValue::Nothing => InfoRecord::no_value(info.code).encode(out),
                InfoValue::Byte(value) => InfoRecord::byte(info.code, *value).encode(out),
                InfoValue::Half(value) => InfoRecord::half(info.code, *value).encode(out),
                InfoValue::Words(words) => sized(info.code, words, out)?,
            }
        }
        if function.is_entry && size > 0 {
            InfoRecord::half(InfoCode::CBANK_PARAM_SIZE, size as u16).encode(out);
            let bank = self.number(0, &bank_of(function))?;
            sized(
                InfoCode::PARAM_CBANK,
                &[bank, (size << 16 | base) as u32],
                out,
            )?;
        }
        self.sections.push(draft);
        Ok(())
    }

    pub(super) fn relocation_sections(&mut self) -> Result<(), TextError> {
        let source = self.source;
        for function in source.functions.iter().filter(|f| f.is_defined) {
            let lines = function.relocations.iter().map(|line| (line, line.offset));
            self.relocations(format!(".text.{}", function.name), lines.collect())?;
        }
        for raw in &source.sections {
            let lines = raw.relocations.iter().map(|line| (line, line.offset));
            self.relocations(raw.name.to_owned(), lines.collect())?;
        }
        let mut of_data: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for variable in &source.variables {
            let draft = self.symbols.iter().find(|s| s.name == variable.name);
            let Some((section, value)) =
                draft.and_then(|d| Some((d.section.clone()?, d.symbol.value)))
            else {
                continue;
            };
            for line in &variable.relocations {
                let place = (line, value.wrapping_add(line.offset));
                of_data.entry(section.clone()).or_default().push(place);
            }
        }
        for (section, lines) in of_data {
            self.relocations(section, lines)?;
        }
        Ok(())
    }

    /// Relocations of one section, last line first as in real objects. Before
    /// sm_90 those without an addend stand apart.
    fn relocations(
        &mut self,
        section: String,
        lines: Vec<(&RelocationLine<'t>, u64)>,
    ) -> Result<(), TextError> {
        let apart = !self.target.is_hopper_or_newer();
        let (mut rel, mut rela) = (Vec::new(), Vec::new());
        for (line, offset) in lines.into_iter().rev() {
            let kind = match line.kind {
                RelocationType::R_CUDA_NONE if apart => RelocationType::R_CUDA_ABS47_34,
                RelocationType::R_CUDA_NONE => RelocationType::R_CUDA_ABS55_16_34,
                kind => kind,
            };
            let without = apart && line.addend == 0;
            let relocation = Relocation {
                offset,
                symbol: self.number(line.line, line.symbol)?,
                kind: kind.0,
                addend: (!without).then_some(line.addend),
            };
            relocation.encode(if without { &mut rel } else { &mut rela });
        }
        for (prefix, kind, entry_size, bytes) in [
            (".rel", SectionType::REL, 16, rel),
            (".rela", SectionType::RELA, 24, rela),
        ] {
            if bytes.is_empty() {
                continue;
            }
            let mut draft = Draft::new(format!("{prefix}{section}"), kind, 8);
            draft.flags = SectionFlags::INFO_LINK;
            draft.entry_size = entry_size;
            draft.link = Number::Fixed(SYMBOLS);
            draft.info = Number::Section(section.clone());
            draft.bytes = bytes;
            self.sections.push(draft);
        }
        Ok(())
    }

    pub(super) fn notes(&self) -> [Draft<'t>; 2] {
        let options = format!("-arch {} -m 64 -c  ", self.target);
        let tool = ToolNote {
            version: 2,
            object: "",
            tool: "testkit",
            tool_version: "Cuda compilation tools, release 13.0, V13.0.88",
            branch: "",
            options: &options,
        };
        let mut tools = Draft::new(".note.nv.tkinfo", SectionType::NOTE, 4);
        tools.flags = SectionFlags::TOOL_NOTE;
        Note::nvidia(NoteKind::TOOL, &tool.encode()).encode(&mut tools.bytes);
        let device = DeviceNote {
            version: 2,
            virtual_sm: self.target.number,
            toolkit: TOOLKIT,
            reserved: 0,
            extra: None,
        };
        let mut devices = Draft::new(".note.nv.cuinfo", SectionType::NOTE, 4);
        devices.flags = SectionFlags::DEVICE_NOTE;
        devices.link = Number::Section(tools.name.clone());
        if self.target.is_hopper_or_newer() {
            devices.flags = devices.flags.with(SectionFlags::INFO_LINK);
            devices.info = Number::Section(".nv.compat".to_owned());
        }
        Note::nvidia(NoteKind::DEVICE, &device.encode()).encode(&mut devices.bytes);
        [tools, devices]
    }
}
