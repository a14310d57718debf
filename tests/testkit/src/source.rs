//! The text form: lines to declarations.

use rustnvlink::arch::Sm;
use rustnvlink::arch::relocation::RelocationType;
use rustnvlink::cubin::{Binding, InfoCode, SectionType, SymbolOther, SymbolType};

use crate::TextError;

/// The most bytes a text may ask for, so that a slip of the finger does not
/// fill the memory.
const MAX_SIZE: u64 = 1 << 24;

/// What a text declares, in order.
#[derive(Debug, Default)]
pub(crate) struct Source<'t> {
    pub(crate) target: Option<Sm>,
    pub(crate) functions: Vec<Function<'t>>,
    pub(crate) variables: Vec<Variable<'t>>,
    pub(crate) sections: Vec<RawSection<'t>>,
    pub(crate) symbols: Vec<RawSymbol<'t>>,
}

#[derive(Debug)]
pub(crate) struct Function<'t> {
    pub(crate) name: &'t str,
    pub(crate) is_entry: bool,
    pub(crate) is_defined: bool,
    /// Empty for kernels.
    pub(crate) prototype: &'t str,
    pub(crate) binding: Binding,
    pub(crate) code: Vec<u8>,
    pub(crate) registers: u32,
    pub(crate) frame: u32,
    /// Sizes of a kernel's parameters.
    pub(crate) parameters: Vec<u16>,
    pub(crate) relocations: Vec<RelocationLine<'t>>,
    pub(crate) calls: Vec<&'t str>,
    pub(crate) address_references: Vec<&'t str>,
    pub(crate) indirect_calls: Vec<&'t str>,
    pub(crate) info: Vec<InfoLine>,
    /// Name, size and alignment.
    pub(crate) shared: Vec<(&'t str, u64, u64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    Global,
    Constant,
    Shared,
    Common,
}

#[derive(Debug)]
pub(crate) struct Variable<'t> {
    pub(crate) name: &'t str,
    pub(crate) space: Space,
    pub(crate) is_defined: bool,
    pub(crate) is_managed: bool,
    pub(crate) binding: Binding,
    pub(crate) size: u64,
    pub(crate) align: u64,
    /// Initial bytes, if there are any.
    pub(crate) bytes: Option<Vec<u8>>,
    pub(crate) relocations: Vec<RelocationLine<'t>>,
}

#[derive(Debug)]
pub(crate) struct RelocationLine<'t> {
    pub(crate) line: usize,
    pub(crate) offset: u64,
    pub(crate) kind: RelocationType,
    pub(crate) symbol: &'t str,
    pub(crate) addend: i64,
}

#[derive(Debug)]
pub(crate) enum InfoValue {
    Nothing,
    Byte(u8),
    Half(u16),
    Words(Vec<u32>),
}

#[derive(Debug)]
pub(crate) struct InfoLine {
    pub(crate) code: InfoCode,
    pub(crate) value: InfoValue,
}

#[derive(Debug)]
pub(crate) struct RawSection<'t> {
    pub(crate) line: usize,
    pub(crate) name: &'t str,
    pub(crate) kind: SectionType,
    pub(crate) flags: u64,
    pub(crate) align: u64,
    pub(crate) entry_size: u64,
    pub(crate) link: &'t str,
    pub(crate) info: &'t str,
    pub(crate) bytes: Vec<u8>,
    pub(crate) relocations: Vec<RelocationLine<'t>>,
}

#[derive(Debug)]
pub(crate) struct RawSymbol<'t> {
    pub(crate) line: usize,
    pub(crate) name: &'t str,
    pub(crate) kind: SymbolType,
    pub(crate) binding: Binding,
    pub(crate) other: SymbolOther,
    pub(crate) section: &'t str,
    pub(crate) value: u64,
    pub(crate) size: u64,
}

/// What indented lines belong to.
#[derive(Clone, Copy)]
enum Owner {
    Nobody,
    Function,
    Variable,
    Section,
}

/// The words of a line that have not been read yet.
struct Words<'t> {
    line: usize,
    /// Sum of the sizes that were read.
    asked: u64,
    words: std::str::SplitWhitespace<'t>,
}

impl<'t> Words<'t> {
    fn error<T>(&self, problem: impl Into<String>) -> Result<T, TextError> {
        Err(TextError {
            line: self.line,
            problem: problem.into(),
        })
    }

    fn next(&mut self, what: &str) -> Result<&'t str, TextError> {
        match self.words.next() {
            Some(word) => Ok(word),
            None => self.error(format!("{what} is missing")),
        }
    }

    fn number(&mut self, what: &str) -> Result<u64, TextError> {
        let word = self.next(what)?;
        self.parse(word, what)
    }

    fn parse(&self, word: &str, what: &str) -> Result<u64, TextError> {
        let parsed = match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => word.parse(),
        };
        parsed.or_else(|_| self.error(format!("{what} '{word}' is not a number")))
    }

    fn fit<T: TryFrom<u64>>(&mut self, what: &str) -> Result<T, TextError> {
        let number = self.number(what)?;
        match T::try_from(number) {
            Ok(number) => Ok(number),
            Err(_) => self.error(format!("{what} {number:#x} is too large")),
        }
    }

    fn size(&mut self, what: &str) -> Result<u64, TextError> {
        let size = self.number(what)?;
        self.asked = self.asked.saturating_add(size);
        if self.asked > MAX_SIZE {
            let problem = format!("with {what} {size:#x} the object exceeds {MAX_SIZE:#x} bytes");
            return self.error(problem);
        }
        Ok(size)
    }

    fn align(&mut self) -> Result<u64, TextError> {
        let align = self.size("alignment")?;
        if !align.is_power_of_two() {
            return self.error(format!("alignment {align} is not a power of two"));
        }
        Ok(align)
    }

    fn rest(&mut self, what: &str) -> Result<Vec<u64>, TextError> {
        let mut numbers = Vec::new();
        while let Some(word) = self.words.next() {
            numbers.push(self.parse(word, what)?);
        }
        Ok(numbers)
    }

    fn end(&mut self) -> Result<(), TextError> {
        match self.words.next() {
            None => Ok(()),
            Some(word) => self.error(format!("'{word}' is not expected here")),
        }
    }

    fn relocation(&mut self) -> Result<RelocationLine<'t>, TextError> {
        let offset = self.number("offset")?;
        let name = self.next("relocation type")?;
        let kind = match RelocationType::from_name(name) {
            Some(kind) => kind,
            None => RelocationType(self.parse(name, "relocation type")? as u32),
        };
        let symbol = self.next("symbol")?;
        let addend = match self.words.next() {
            None => 0,
            Some("+") => self.number("addend")? as i64,
            Some("-") => (self.number("addend")? as i64).wrapping_neg(),
            Some(word) => return self.error(format!("'{word}' is not + or -")),
        };
        Ok(RelocationLine {
            line: self.line,
            offset,
            kind,
            symbol,
            addend,
        })
    }

    /// `bytes`, `words` or `zeros` and what follows.
    fn bytes(&mut self, directive: &str) -> Result<Vec<u8>, TextError> {
        match directive {
            "zeros" => Ok(vec![0; self.size("size")? as usize]),
            "words" => {
                let words = self.rest("word")?;
                let narrow = words.iter().map(|&word| u32::try_from(word));
                match narrow.collect::<Result<Vec<u32>, _>>() {
                    Ok(words) => Ok(words.iter().flat_map(|w| w.to_le_bytes()).collect()),
                    Err(_) => self.error("a word has more than 32 bits"),
                }
            }
            _ => {
                let mut bytes = Vec::new();
                while let Some(word) = self.words.next() {
                    match u8::from_str_radix(word, 16) {
                        Ok(byte) => bytes.push(byte),
                        Err(_) => return self.error(format!("'{word}' is not a byte in hex")),
                    }
                }
                Ok(bytes)
            }
        }
    }
}

impl<'t> Source<'t> {
    pub(crate) fn parse(text: &'t str) -> Result<Self, TextError> {
        let mut source = Self::default();
        let mut owner = Owner::Nobody;
        let mut asked = 0;
        for (index, full) in text.lines().enumerate() {
            let line = full.split("//").next().unwrap_or_default();
            let mut words = Words {
                line: index + 1,
                asked,
                words: line.split_whitespace(),
            };
            let Some(first) = words.words.next() else {
                continue;
            };
            if line.starts_with([' ', '\t']) {
                source.detail(owner, first, &mut words)?;
            } else {
                owner = source.declaration(first, &mut words)?;
            }
            words.end()?;
            asked = words.asked;
        }
        Ok(source)
    }

    fn declaration(&mut self, first: &str, words: &mut Words<'t>) -> Result<Owner, TextError> {
        let (is_defined, kind) = match first {
            "extern" => (false, words.next("what is extern")?),
            kind => (true, kind),
        };
        match kind {
            "target" if is_defined => {
                let name = words.next("processor")?;
                match name.parse() {
                    Ok(sm) => self.target = Some(sm),
                    Err(error) => return words.error(format!("{error}")),
                }
                Ok(Owner::Nobody)
            }
            "entry" | "function" => {
                self.function(kind == "entry", is_defined, words)?;
                Ok(Owner::Function)
            }
            "global" => self.variable(Space::Global, is_defined, words),
            "constant" => self.variable(Space::Constant, is_defined, words),
            "shared" => self.variable(Space::Shared, is_defined, words),
            "common" if is_defined => self.variable(Space::Common, is_defined, words),
            "section" if is_defined => {
                self.section(words)?;
                Ok(Owner::Section)
            }
            "symbol" if is_defined => {
                self.symbol(words)?;
                Ok(Owner::Nobody)
            }
            other => words.error(format!("'{other}' declares nothing")),
        }
    }

    fn function(
        &mut self,
        is_entry: bool,
        is_defined: bool,
        words: &mut Words<'t>,
    ) -> Result<(), TextError> {
        let name = words.next("name")?;
        let prototype = if is_entry {
            ""
        } else {
            words.next("prototype such as #ii")?
        };
        let binding = match words.words.next() {
            None => Binding::GLOBAL,
            Some("weak") => Binding::WEAK,
            Some("local") => Binding::LOCAL,
            Some(word) => return words.error(format!("'{word}' is not weak or local")),
        };
        self.functions.push(Function {
            name,
            is_entry,
            is_defined,
            prototype,
            binding,
            code: vec![0; if is_defined { 0x80 } else { 0 }],
            registers: 8,
            frame: 0,
            parameters: Vec::new(),
            relocations: Vec::new(),
            calls: Vec::new(),
            address_references: Vec::new(),
            indirect_calls: Vec::new(),
            info: Vec::new(),
            shared: Vec::new(),
        });
        Ok(())
    }

    fn variable(
        &mut self,
        space: Space,
        is_defined: bool,
        words: &mut Words<'t>,
    ) -> Result<Owner, TextError> {
        let mut variable = Variable {
            name: words.next("name")?,
            space,
            is_defined,
            is_managed: false,
            binding: Binding::GLOBAL,
            size: words.size("size")?,
            align: 4,
            bytes: None,
            relocations: Vec::new(),
        };
        while let Some(word) = words.words.next() {
            match word {
                "align" => variable.align = words.align()?,
                "weak" => variable.binding = Binding::WEAK,
                "local" => variable.binding = Binding::LOCAL,
                "managed" => variable.is_managed = true,
                other => return words.error(format!("'{other}' says nothing of a variable")),
            }
        }
        self.variables.push(variable);
        Ok(Owner::Variable)
    }

    fn section(&mut self, words: &mut Words<'t>) -> Result<(), TextError> {
        let name = words.next("name")?;
        let kind = words.next("type")?;
        let kind = match SectionType::from_name(kind) {
            Some(kind) => kind,
            None => SectionType(words.parse(kind, "type")? as u32),
        };
        let mut section = RawSection {
            line: words.line,
            name,
            kind,
            flags: 0,
            align: 1,
            entry_size: 0,
            link: "0",
            info: "0",
            bytes: Vec::new(),
            relocations: Vec::new(),
        };
        while let Some(word) = words.words.next() {
            match word {
                "flags" => section.flags = words.number("flags")?,
                "align" => section.align = words.align()?,
                "entry-size" => section.entry_size = words.number("entry size")?,
                "link" => section.link = words.next("linked section")?,
                "info" => section.info = words.next("section or number")?,
                other => return words.error(format!("'{other}' says nothing of a section")),
            }
        }
        self.sections.push(section);
        Ok(())
    }

    fn symbol(&mut self, words: &mut Words<'t>) -> Result<(), TextError> {
        let name = words.next("name")?;
        let kind = match words.next("type")? {
            "notype" => SymbolType::NOTYPE,
            "object" => SymbolType::OBJECT,
            "function" => SymbolType::FUNC,
            "texture" => SymbolType::TEXTURE,
            "sampler" => SymbolType::SAMPLER,
            "surface" => SymbolType::SURFACE,
            "cuda-object" => SymbolType::CUDA_OBJECT,
            number => SymbolType(words.parse(number, "type")? as u8 & 0xf),
        };
        let mut symbol = RawSymbol {
            line: words.line,
            name,
            kind,
            binding: Binding::GLOBAL,
            other: SymbolOther::default(),
            section: "",
            value: 0,
            size: 0,
        };
        while let Some(word) = words.words.next() {
            match word {
                "local" => symbol.binding = Binding::LOCAL,
                "weak" => symbol.binding = Binding::WEAK,
                "other" => symbol.other = SymbolOther(words.fit("other")?),
                "in" => symbol.section = words.next("section")?,
                "value" => symbol.value = words.number("value")?,
                "size" => symbol.size = words.number("size")?,
                word => return words.error(format!("'{word}' says nothing of a symbol")),
            }
        }
        self.symbols.push(symbol);
        Ok(())
    }

    fn detail(
        &mut self,
        owner: Owner,
        first: &str,
        words: &mut Words<'t>,
    ) -> Result<(), TextError> {
        match owner {
            Owner::Nobody => words.error("an indented line belongs to nothing"),
            Owner::Function => match self.functions.last_mut() {
                Some(function) => function.detail(first, words),
                None => words.error("an indented line belongs to nothing"),
            },
            Owner::Variable => match (self.variables.last_mut(), first) {
                (Some(variable), "relocation") => {
                    variable.relocations.push(words.relocation()?);
                    Ok(())
                }
                (Some(variable), "bytes" | "words" | "zeros") => {
                    let bytes = variable.bytes.get_or_insert_default();
                    bytes.extend(words.bytes(first)?);
                    Ok(())
                }
                _ => words.error(format!("'{first}' says nothing of a variable")),
            },
            Owner::Section => match (self.sections.last_mut(), first) {
                (Some(section), "relocation") => {
                    section.relocations.push(words.relocation()?);
                    Ok(())
                }
                (Some(section), "bytes" | "words" | "zeros") => {
                    section.bytes.extend(words.bytes(first)?);
                    Ok(())
                }
                _ => words.error(format!("'{first}' says nothing of a section")),
            },
        }
    }
}

impl<'t> Function<'t> {
    fn detail(&mut self, first: &str, words: &mut Words<'t>) -> Result<(), TextError> {
        match first {
            "code" => self.code = vec![0; words.size("size")? as usize],
            "bytes" | "words" => self.code = words.bytes(first)?,
            "registers" => self.registers = words.fit("registers")?,
            "frame" => self.frame = words.fit("frame")?,
            "parameters" => {
                for size in words.rest("size")? {
                    match u16::try_from(size) {
                        Ok(size) => self.parameters.push(size),
                        Err(_) => return words.error(format!("size {size:#x} is too large")),
                    }
                }
            }
            "relocation" => self.relocations.push(words.relocation()?),
            "call" => {
                let callee = words.next("callee")?;
                self.calls.push(callee);
                match words.words.next() {
                    None => {}
                    Some("at") => {
                        let offset = words.number("offset")?;
                        self.relocations.push(RelocationLine {
                            line: words.line,
                            offset,
                            // The builder puts the processor's own type here.
                            kind: RelocationType::R_CUDA_NONE,
                            symbol: callee,
                            addend: 0,
                        });
                    }
                    Some(word) => return words.error(format!("'{word}' is not at")),
                }
            }
            "address-of" => self.address_references.push(words.next("function")?),
            "indirect-call" => self.indirect_calls.push(words.next("prototype")?),
            "shared" => {
                let name = words.next("name")?;
                let size = words.size("size")?;
                let align = match words.words.next() {
                    None => 4,
                    Some("align") => words.align()?,
                    Some(word) => return words.error(format!("'{word}' is not align")),
                };
                self.shared.push((name, size, align));
            }
            "info" => {
                let name = words.next("code")?;
                let code = match InfoCode::from_name(name) {
                    Some(code) => code,
                    None => InfoCode(words.parse(name, "code")? as u8),
                };
                let value = match words.words.next() {
                    None => InfoValue::Nothing,
                    Some("byte") => InfoValue::Byte(words.fit("value")?),
                    Some("half") => InfoValue::Half(words.fit("value")?),
                    Some("words") => {
                        let numbers = words.rest("word")?;
                        InfoValue::Words(numbers.iter().map(|&n| n as u32).collect())
                    }
                    Some(word) => {
                        return words.error(format!("'{word}' is not byte, half or words"));
                    }
                };
                self.info.push(InfoLine { code, value });
            }
            other => return words.error(format!("'{other}' says nothing of a function")),
        }
        Ok(())
    }
}
