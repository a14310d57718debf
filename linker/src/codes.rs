//! The codes of messages, and what each means and asks for.
//!
//! A code stays the same between releases. It stands in brackets behind a message, and docs/messages.md lists all.
//!
//! ```
//! use rustnvlink::codes;
//!
//! let code = codes::UNDEFINED_REFERENCE;
//! assert_eq!(code, "undefined-reference");
//! assert!(code.meaning().starts_with("A function or variable is used that no input defines."));
//! assert_eq!(codes::find("undefined-reference"), Some(code));
//! ```

use std::fmt;
use std::hash::{Hash, Hasher};

/// The code of a message.
#[derive(Clone, Copy)]
pub struct Code(&'static Entry);

struct Entry {
    name: &'static str,
    meaning: &'static str,
}

impl Code {
    /// The code as it is shown.
    pub fn as_str(self) -> &'static str {
        self.0.name
    }

    /// What it means and what to do, in sentences.
    pub fn meaning(self) -> &'static str {
        self.0.meaning
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Code").field(&self.0.name).finish()
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0.name)
    }
}

impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for Code {}

impl Hash for Code {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name.hash(state);
    }
}

impl PartialEq<str> for Code {
    fn eq(&self, name: &str) -> bool {
        self.0.name == name
    }
}

impl PartialEq<&str> for Code {
    fn eq(&self, name: &&str) -> bool {
        self.0.name == *name
    }
}

/// The code that is shown so, if there is one.
pub fn find(name: &str) -> Option<Code> {
    let row = ALL.binary_search_by_key(&name, |code| code.as_str());
    row.ok().map(|row| ALL[row])
}

macro_rules! codes {
    ($($constant:ident $name:literal: $meaning:literal;)*) => {
        $(
            #[doc = $meaning]
            pub const $constant: Code = Code(&Entry { name: $name, meaning: $meaning });
        )*

        /// All codes in alphabetical order.
        pub const ALL: &[Code] = &[$($constant),*];
    };
}

codes! {
    ABI_MISMATCH "abi-mismatch":
        "The object was made for another device ABI: its ELF header has an EI_ABIVERSION that no \
         toolkit since 11.8 writes beside its EI_OSABI. Compile it again with a newer toolkit.";

    ARCH_MISMATCH "arch-mismatch":
        "The object's code cannot run on the processor of the link. An object runs on its own \
         processor and on later ones of the same major number; code with suffix 'a' runs on its \
         own processor only, with 'f' on those of its family. Compile the object for the \
         processor, or link for another one with -arch.";

    BAD_HOST_OBJECT "bad-host-object":
        "The host object is damaged, or its section of device code is. Compile it again.";

    BAD_IMAGE "bad-image":
        "The images of several processors cannot be put into one file.";

    BAD_INPUT "bad-input":
        "An input breaks the rules of its format. The message names the file, the section and \
         the place. It was cut off or damaged, or a tool wrote it that does not follow the format: \
         make it again.";

    BAD_MODULE_IDS "bad-module-ids":
        "With --compat, as with nvlink, the section __nv_module_id of a host object may not mix \
         names of linked modules ('def NAME') with others. Compile the object again.";

    BAD_OBJECT_TYPE "bad-object-type":
        "The file is a device object by its name and machine, but neither relocatable nor \
         executable, or a symbol in it is neither local, global nor weak.";

    BEHIND_RUNTIME "behind-runtime":
        "With --compat, as with nvlink, no device code may follow a libcudadevrt.a that nothing before \
         it needs. Put the library last.";

    CLOSED_OBJECT "closed-object":
        "Something is undefined, and these objects have device code that was compiled without \
         -rdc=true: nobody else can call their device functions. Compile them with it (nvcc -dc).";

    CONFLICTING_OPTIONS "conflicting-options":
        "Two options exclude each other, or one needs another that is not given.";

    FASTER_DOUBLES "faster-doubles":
        "Doubles take longer on sm_103 than code for sm_100 waits for. The linker makes such code anew, but could not read that of a \
         function, which may use results before they are there. Compile its file for sm_103.";

    HOST_OBJECT_FAILED "host-object-failed":
        "Reading an input failed; the messages before this one say why.";

    HOST_SCRIPT_FAILED "host-script-failed":
        "The host compiler did not print the linker script that a script of its own is to begin \
         with. --host-ccbin names the compiler; it needs sh, ld and sed.";

    IGNORED_HOST_INFO "ignored-host-info":
        "-kernels-used and -variables-used say what stays, so that it does not matter what host \
         code uses.";

    IGNORED_INPUT "ignored-input":
        "The file was named, but has nothing that a device link can use; the message says why. \
         Leave it out, or give it the extension of what it is: .cubin, .fatbin, .ptx or .ltoir. \
         nvlink leaves such files out without a word.";

    IGNORED_VARIABLE "ignored-variable":
        "CUDA_HOME or CUDA_PATH is set, and names no CUDA toolkit, so that what the link takes from one, ptxas or \
         libnvJitLink, is that of another toolkit. Correct the variable, or unset it.";

    INCOMPATIBLE_LIBRARY "incompatible-library":
        "A file of the library's name has no host objects in it. The search goes on in the next \
         folder.";

    INVALID_OPTION "invalid-option":
        "An option is not valid UTF-8. Give its value as an argument of its own.";

    INVALID_OPTIONS_FILE "invalid-options-file":
        "An options file is no text: there is a zero byte in it, or it is not valid UTF-8.";

    INVALID_VALUE "invalid-value":
        "The value is none that the option takes; --help lists them.";

    KERNEL_MISMATCH "kernel-mismatch":
        "A function is a kernel in one input, and a device function in another. This can only \
         happen to functions that are extern \"C\" or written in PTX. Declare it __global__ in \
         all files or in none.";

    LIMITED_ARCH "limited-arch":
        "An input has code of an older generation only, which newer processors cannot take over. \
         The image runs on the processor that is named and on no other.";

    LINKED_OBJECT "linked-object":
        "Something is undefined, and these inputs are results of a device link (nvcc -dlink, cargo \
         cudalink link), whose functions cannot be called any more. Link the objects that they were \
         made of instead; in CMake, turn CUDA_RESOLVE_DEVICE_SYMBOLS off for their library.";

    LTO_FAILED "lto-failed":
        "libnvJitLink refused the LTO-IR. What it said follows the colon. LTO-IR of a compiler that is newer than the library \
         needs the library of that toolkit (CUDA_HOME, --nvjitlink), or has to be compiled again.";

    LTO_INPUT "lto-input":
        "The input has LTO-IR, which is linked with -dlto only. Add -dlto, or compile without it.";

    LTO_LOG "lto-log":
        "What libnvJitLink said about a link that succeeded.";

    MANAGED_MISMATCH "managed-mismatch":
        "One file declares a variable as __managed__, and another one does not. Make the declarations \
         agree: host code and device code would use different memory.";

    MEMORY_SPACE_MISMATCH "memory-space-mismatch":
        "Two files declare one name in different kinds of memory, or once as a function and once \
         as a variable. Make the declarations agree.";

    MERGE_FAILED "merge-failed":
        "The inputs cannot be joined; the messages before this one say why.";

    MISPLACED_OPTION "misplaced-option":
        "-Xnvlink is for options about the link. The processors, the form of the result and where it \
         goes are options of the command itself. What is told of a link in files of its own (--map, --cref, \
         -dot) is about one processor: `rustnvlink -arch=sm_90 --map=- main.o part.o -o program.cubin` links \
         the same inputs, host objects and libraries included.";

    MISSING_ARCH "missing-arch":
        "No processor is named. A link is for one (-arch=sm_90) or for several (-arch=sm_80,sm_90); \
         `cargo cudalink inspect` shows what inputs have code for.";

    MISSING_ARCH_CODE "missing-arch-code":
        "The input has device code, but none that runs on the processor of the link, and no PTX \
         to compile. Its functions and kernels are missing from the image. Compile it with \
         -gencode=arch=compute_NN,code=sm_NN for the processor. -suppress-arch-warning silences \
         the warning.";

    MISSING_ATTRIBUTE "missing-attribute":
        "An input does not say in .nv.compat what its code needs, as a relocatable object that was \
         linked from nothing does not. The image runs on the processor that is named and on no \
         other.";

    MISSING_LIBRARY "missing-library":
        "-l names a library of which no folder has a libNAME.a. -L and the environment variable \
         LIBRARY_PATH name folders. nvcc hands the libraries of the host over, too; one that is \
         where host linkers look is only mentioned if something is undefined.";

    MISSING_NVJITLINK "missing-nvjitlink":
        "LTO-IR is compiled by libnvJitLink, which comes with the CUDA toolkit. Install a toolkit \
         (`cargo cudalink toolkit install`), set CUDA_HOME, or name the library with --nvjitlink.";

    MISSING_NVVM_PATH "missing-nvvm-path":
        "nvlink demands -nvvmpath with -dlto. Without --compat it is not needed.";

    MISSING_OUTPUT "missing-output":
        "-o names the file for the image.";

    MISSING_PTXAS "missing-ptxas":
        "PTX is compiled by ptxas, which comes with the CUDA toolkit. Install a toolkit \
         (`cargo cudalink toolkit install`), set CUDA_HOME, name the program with --ptxas, or \
         compile the input for the processor of the link so that no PTX is needed.";

    MISSING_VALUE "missing-value":
        "The option needs a value behind it.";

    MIXED_OPTIONS "mixed-options":
        "The files of a link with -dlto were compiled with options that differ, and all code is made at once. Without --compat the \
         smallest -maxrregcount holds, and arithmetic is exact where some file asks for it (-ftz=false, -prec-div=true, \
         -prec-sqrt=true, -fmad=false). With --compat, as with nvlink, files must agree: compile all with the same options.";

    MIXED_TENSOR_GROUPS "mixed-tensor-groups":
        "A kernel and the functions that it calls use tensor memory both for one block of threads \
         (.cta_group::1) and for pairs of them (.cta_group::2). Use one of the two.";

    MULTIPLE_DEFINITION "multiple-definition":
        "Two inputs define one function or variable. Declare it 'extern' in all files but one, or \
         make it 'static' or 'inline'. The whole of an archive is linked, so an object that is \
         named beside the archive that holds it is there twice. lto.cubin stands for all inputs with \
         LTO-IR; a line below says which of them has the name.";

    NARROW_ADDRESSES "narrow-addresses":
        "The object says that its addresses have 32 bits. Toolkits since 9.0 make none of these.";

    NESTED_OPTIONS_FILES "nested-options-files":
        "Options files name each other too deeply, perhaps in a circle.";

    NEWER_TOOLKIT "newer-toolkit":
        "The object comes from a newer toolkit than those whose objects were compared, 13.0 to 13.5. \
         Objects of later toolkits of CUDA 13 are linked with this warning; what is new in them goes \
         into the image as it is. Those of CUDA 14 are refused, as nvlink 13.0 and --compat refuse all \
         that are newer than 13.0: compile with an older toolkit.";

    NO_CALL_GRAPH_NODE "no-call-graph-node":
        "An object's call graph names something that is no function. The object is damaged, or \
         another input defines the function as a variable.";

    NO_DEVICE_CODE "no-device-code":
        "No input has code for the processor, so that the image has no kernels. nvlink makes such \
         an image without a word, as this linker does for nvcc, which links every program. Where an \
         input is the result of a device link of the others, nothing is left to link: give it to the \
         host linker as it is. Objects that Clang 21 and later make hold code for steps of its own, \
         unless they are compiled with --no-offload-new-driver.";

    NO_DEVICE_RUNTIME "no-device-runtime":
        "nvlink demands -lcudadevrt with -dlto. Without --compat it is not needed.";

    NO_INPUT "no-input":
        "No file to link was named.";

    NO_KERNELS "no-kernels":
        "-variables-used alone means that no kernel is used, as with nvlink, so that the image has none. Name the kernels with \
         -kernels-used, too.";

    NO_LTO_INPUT "no-lto-input":
        "-dlto was given, but no input has LTO-IR: compile with -dlto, too.";

    NO_REGISTER_COUNT "no-register-count":
        "The attributes of an object do not say how many registers a function needs. Kernels that \
         call it could not be launched. The object is damaged: compile it again.";

    NO_TEMPORARY_FOLDER "no-temporary-folder":
        "PTX is compiled between files of a folder that is gone afterwards. TMPDIR names a place where \
         it can be made; without one it is /tmp.";

    NO_UNIFIED_INDEX "no-unified-index":
        "The inputs have unified functions or variables, whose index all images of a program \
         share. It is named with -uidx.";

    NOT_A_CUBIN "not-a-cubin":
        "A file with the extension .cubin is no device object. Rename it, or make it with \
         nvcc -cubin -rdc=true or ptxas -c.";

    NOT_A_FATBIN "not-a-fatbin":
        "A file with the extension .fatbin is none. Rename it, or make it with nvcc -fatbin \
         -rdc=true.";

    NOT_PTX "not-ptx":
        "A file with the extension .ptx is neither PTX nor a cubin. Rename it, or make it with nvcc \
         -ptx -rdc=true.";

    ODR_VIOLATION "odr-violation":
        "Two inputs define one weak function or variable (an inline function, a template, an \
         inline variable) in different ways. One of them is taken, and the other's callers get \
         it, too. The sources, or the compiler's options, differ between the files. By default, \
         variables and the parameters of kernels are compared. --odr=warn and --odr=error compare \
         code, too, which may also differ because only one of the files defines what it calls; \
         --odr=off turns the check off.";

    OLD_TENSOR_MEMORY "old-tensor-memory":
        "Some inputs that use tensor memory come from CUDA 12, and others from CUDA 13, which \
         manages it in another way. Compile the older ones again.";

    OLD_TOOLKIT "old-toolkit":
        "The object comes from a toolkit before 12.0, whose objects for sm_90 cannot be linked any \
         more, or does not say from which. Compile it again.";

    OLD_WHOLE_PROGRAM "old-whole-program":
        "The object is a whole program (-ewp) of a toolkit before 13.0, which cannot be linked any \
         more, or with --compat an object of such a toolkit behind a whole program. Compile it again.";

    OPTION_AS_VALUE "option-as-value":
        "An option that needs a value stands right before another one, which becomes its value, as with nvlink. Give it \
         one; where this is the value that you mean, write it behind =.";

    OTHER_PARAMETERS "other-parameters":
        "Two inputs define one weak kernel (a template, say) with parameters of other sizes. A \
         launch that one of them was made for would hand the wrong ones to the other. The sources, \
         or the compiler's options, differ between the files.";

    PARTIAL_LTO "partial-lto":
        "Some input has machine code instead of LTO-IR, so that the optimizer does not see all of \
         the program. Compile it with -dlto, too.";

    PARTIAL_RELOCATION_RECORD "partial-relocation-record":
        "The image does not say everything about the relocations that the link resolved. The code \
         and data are complete.";

    PROCESSOR_LEFT_OUT "processor-left-out":
        "Some inputs have code for a processor, and those with kernels have none for it, so that no image is made for it. \
         Compile these for it, too, or choose the processors of the link.";

    PROTOTYPE_MISMATCH "prototype-mismatch":
        "Two files declare one function with different parameters or results. This can only \
         happen to functions that are extern \"C\" or written in PTX. Make the declarations \
         agree.";

    PTXAS_FAILED "ptxas-failed":
        "ptxas did not compile the PTX of an input. What it printed stands before this message.";

    PTXAS_OUTPUT "ptxas-output":
        "What ptxas said of PTX in the link.";

    RECORD_TOO_LARGE "record-too-large":
        "A kernel and the functions that it calls leave more functions to the driver than one record \
         can list, 16383. Let kernels call fewer of them.";

    REDEFINED_OPTION "redefined-option":
        "An option was given twice with different values. The last one counts.";

    REFERENCE_TO_DELETED "reference-to-deleted":
        "A function that stays uses one that was to be left out.";

    REQUESTED "requested":
        "Text that an option asked for.";

    RESERVED_SHARED "reserved-shared":
        "The function needs what the system keeps at the start of shared memory, as code with tensor \
         memory does, and all code for sm_110. Link without -disable-smem-reservation.";

    RESOURCE_USAGE "resource-usage":
        "What -v asks for: the resources of each kernel.";

    SCRIPT_WITH_INPUT "script-with-input":
        "A script for the host linker does not depend on inputs. Leave them out.";

    SHARED_OF_OTHERS "shared-of-others":
        "A kernel that was compiled as a whole program (-ewp) calls a function of another file that has \
         __shared__ variables. The compiler has laid out what the kernel has. Compile it with -rdc=true.";

    SIZE_MISMATCH "size-mismatch":
        "Two files declare one variable with different sizes. Make the declarations agree.";

    STALE_ADDRESSES "stale-addresses":
        "nvlink -r fills in addresses that only the last link knows. Code of the object reads other \
         constants or shared memory than it means. Link the objects that it was made of, or make it \
         with rustnvlink -r.";

    STRAY_QUOTE "stray-quote":
        "A quote is opened and not closed.";

    TOO_MANY_COMPILER_CONSTANTS "too-many-compiler-constants":
        "The compiler put more constants into the bank of a kernel and its functions than it \
         holds. Compile with -Xptxas --disable-optimizer-constants.";

    TOO_MANY_REGISTERS "too-many-registers":
        "A kernel was compiled for fewer registers than a function that it calls needs. Raise the \
         limit of the kernel (__launch_bounds__, __maxnreg__, -maxrregcount), or compile the \
         function with the same limit. Code for debuggers (-G) takes more than other code.";

    TOO_MUCH_CONSTANT "too-much-constant":
        "The __constant__ variables of all inputs together are larger than the bank, 64 KiB, \
         however they are ordered. The largest are named. Move some into __device__ memory.";

    TOO_MUCH_SHARED "too-much-shared":
        "A kernel and the functions that it calls have more static __shared__ memory than there \
         is. Use less, or allocate it at launch: 'extern __shared__'.";

    UNBOUNDED_STACK "unbounded-stack":
        "Calls that start at the kernel can go round, so that the stack it needs is unknown. The \
         driver gives it cudaLimitStackSize; set that before the launch. \
         -suppress-stack-size-warning silences the warning.";

    UNCALLED_FUNCTION "uncalled-function":
        "The address of the function is taken, so that it stays, but no code that stays calls it, \
         not even through a pointer. -extrawarn asks for this warning.";

    UNDEFINED_REFERENCE "undefined-reference":
        "A function or variable is used that no input defines. Name the object or library that \
         defines it, or compile an input that has no code for the processor for it, too; -lcudadevrt \
         defines what kernels need to launch kernels. A definition that is \
         'static' cannot be used from another file, and one that was compiled without -rdc=true \
         neither. lto.cubin stands for all inputs with LTO-IR; a line below says which of them needs \
         the name.";

    UNEXPECTED_VALUE "unexpected-value":
        "The option takes no value.";

    UNKNOWN_CODE "unknown-code":
        "--explain takes the code that stands in brackets behind a message.";

    UNKNOWN_OPTION "unknown-option":
        "There is no such option; --help lists all.";

    UNKNOWN_PROCESSOR "unknown-processor":
        "The link is for a processor that CUDA 13.0 has no code for, or the inputs hold code for one \
         and no other was chosen. Choose processors with --arch, or compile without this one.";

    UNKNOWN_SYMBOL "unknown-symbol":
        "No input defines or uses the name. It is given as the objects have it, or as it is \
         written in C++, with its parameters or without.";

    UNMATCHED_NAME "unmatched-name":
        "A text of -kernels-used or -variables-used is in no name that the inputs have, so that nothing stays because of it. \
         It is compared with the names of objects, such as _Z4axpyPf for axpy(float *), which `cargo cudalink inspect --mangled` shows; \
         * is any run of characters. nvlink says nothing.";

    UNREADABLE_INPUT "unreadable-input":
        "The file does not exist, is a folder, may not be read, or is too short for any kind of input.";

    UNREADABLE_OPTIONS_FILE "unreadable-options-file":
        "The options file cannot be read.";

    UNREADABLE_TOOL_RECORD "unreadable-tool-record":
        "The file of --tool-record cannot be read.";

    UNUSED_OPTION "unused-option":
        "The option has no effect in this link. nvlink says nothing about it.";

    UNWRITABLE_OUTPUT "unwritable-output":
        "The file cannot be written. What was there before is still there.";

    VIRTUAL_ARCH "virtual-arch":
        "A link is for a real processor, such as sm_90. For compute_90 there is nothing to link.";

    WHOLE_PROGRAM_COMPANY "whole-program-company":
        "An object that was compiled as a whole program (-ewp) is linked with others. It is meant \
         to be linked with libcudadevrt alone.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_lists_every_code() {
        let page = include_str!("../../docs/messages.md");
        let (_, table) = page.split_once("\n## Codes\n").unwrap();
        let rows = table.lines().take_while(|line| !line.starts_with("## "));
        let rows = rows.filter_map(|line| line.strip_prefix("| `"));
        let listed = rows.filter_map(|row| Some(row.split_once("` | ")?.0));
        let known = ALL.iter().map(|code| code.as_str());
        assert_eq!(listed.collect::<Vec<_>>(), known.collect::<Vec<_>>());
    }

    #[test]
    fn codes_are_sorted_and_explained_in_sentences() {
        assert!(ALL.is_sorted_by(|a, b| a.as_str() < b.as_str()));
        for code in ALL {
            assert!(code.meaning().ends_with('.'), "{code}");
        }
        assert_eq!(find("no-such-code"), None);
    }
}
