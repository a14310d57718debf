//! What a user chooses about the device links of a build: on the command line, in variables, in manifests.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::anyhow;
use clap::builder::BoolishValueParser;
use clap::{Arg, Args, ValueEnum};
use cudalink_toolkit::choice::version;
use rustnvlink::arch::{Sm, UnknownSmError};
use rustnvlink::fatbin::CompressionMode;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

/// Choices about the device link. What is not chosen is `None` or empty.
///
/// A flag comes before its variable, a variable before `[package.metadata.cudalink]` of the package that is linked, and
/// that before `[workspace.metadata.cudalink]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Device Link", mut_args(with_switches))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Settings {
    /// The processors to link for, such as sm_90,sm_100a; without it, all that the objects have code for, where they have a kernel
    #[arg(
        long,
        env = "CUDALINK_ARCH",
        value_name = "SM,..",
        value_delimiter = ',',
        value_parser = processor_word,
        hide_env_values = true
    )]
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "processors")]
    pub(crate) arch: Vec<Word<Sm>>,
    /// Which kernels stay: all, or those that C++ code names
    #[arg(
        long,
        env = "CUDALINK_KERNELS",
        value_enum,
        value_name = "WHICH",
        hide_env_values = true
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kernels: Option<KernelChoice>,
    /// The CUDA toolkit: its folder, or the version of one that `cargo cudalink toolkit list` shows, such as 13.0
    #[arg(
        long,
        env = "CUDALINK_TOOLKIT",
        value_name = "FOLDER|VERSION",
        hide_env_values = true
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) toolkit: Option<PathBuf>,
    /// How images are compressed: large (those of more than ten million bytes; the default), large-speed, none, speed, balance, size or zstd:LEVEL
    #[arg(
        long,
        env = "CUDALINK_COMPRESS_MODE",
        value_name = "MODE",
        hide_env_values = true
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) compress_mode: Option<Word<CompressionMode>>,
    /// Optimize all device code of a program together: compile it to LTO-IR, and link that
    #[arg(
        long,
        visible_alias = "lto",
        env = "CUDALINK_DLTO",
        hide_env_values = true
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dlto: Option<bool>,
    /// Keep what debuggers of device code need
    #[arg(long, env = "CUDALINK_DEVICE_DEBUG", hide_env_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) device_debug: Option<bool>,
    /// Whether the host linker is told to put device code behind everything else
    #[arg(
        long,
        env = "CUDALINK_HOST_LINKER_SCRIPT",
        value_enum,
        value_name = "WHEN",
        hide_env_values = true
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) host_linker_script: Option<ScriptUse>,
    /// A further library, object, cubin or fatbin with device code, which the host linker does not see
    #[arg(
        id = "device-library",
        long = "device-library",
        env = "CUDALINK_LIBRARIES",
        value_name = "FILE,..",
        value_delimiter = ',',
        hide_env_values = true
    )]
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "paths")]
    pub(crate) libraries: Vec<PathBuf>,
}

/// Which kernels stay in an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum KernelChoice {
    /// Those that host code names, as nvcc does it
    Used,
    /// All of them
    All,
}

/// When the host linker gets a script of ours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ScriptUse {
    /// When the device code is so large that host code cannot reach across it
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Settings {
    /// What a manifest says. What is wrong names its key.
    pub(crate) fn read(value: &Value) -> anyhow::Result<Self> {
        let of_key = |(key, value): (&String, &Value)| {
            let alone = Value::Object([(key.clone(), value.clone())].into_iter().collect());
            let error = Self::deserialize(alone).err()?.to_string();
            // One of them names it.
            let is_named = error.contains(&format!("`{key}`"));
            Some(match is_named {
                true => anyhow!("{error}"),
                false => anyhow!("{key}: {error}"),
            })
        };
        Self::deserialize(value.clone()).map_err(|error| {
            let mut keys = value.as_object().into_iter().flatten();
            keys.find_map(of_key).unwrap_or_else(|| error.into())
        })
    }

    /// These choices, and for what they leave open those of `lower`.
    pub(crate) fn or(self, lower: &Self) -> Self {
        let Self {
            arch,
            kernels,
            toolkit,
            compress_mode,
            dlto,
            device_debug,
            host_linker_script,
            libraries,
        } = self;
        let list = |upper: Vec<PathBuf>, lower: &Vec<PathBuf>| match upper.is_empty() {
            true => lower.clone(),
            false => upper,
        };
        Self {
            arch: match arch.is_empty() {
                true => lower.arch.clone(),
                false => arch,
            },
            kernels: kernels.or(lower.kernels),
            toolkit: toolkit.or_else(|| lower.toolkit.clone()),
            compress_mode: compress_mode.or(lower.compress_mode),
            dlto: dlto.or(lower.dlto),
            device_debug: device_debug.or(lower.device_debug),
            host_linker_script: host_linker_script.or(lower.host_linker_script),
            libraries: list(libraries, &lower.libraries),
        }
    }

    /// The same with paths that are relative to `folder` made whole. A toolkit may be a version instead of a path.
    pub(crate) fn in_folder(mut self, folder: &Path) -> Self {
        self.toolkit = self.toolkit.map(|toolkit| match version(&toolkit) {
            Some(_) => toolkit,
            None => folder.join(toolkit),
        });
        for library in &mut self.libraries {
            *library = folder.join(&*library);
        }
        self
    }

    /// The processors.
    pub(crate) fn targets(&self) -> Vec<Sm> {
        self.arch.iter().map(|word| word.0).collect()
    }
}

/// What is done or not is asked for alone or with a word that says which: what a manifest or a variable chooses can be
/// taken back.
fn with_switches(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "dlto" | "device_debug" => arg
            .num_args(0..=1)
            .require_equals(true)
            .value_parser(BoolishValueParser::new())
            .default_missing_value("true")
            .value_name("BOOL"),
        _ => arg,
    }
}

/// A processor of a list, in which blanks may stand behind the commas.
pub(crate) fn processor(name: &str) -> Result<Sm, UnknownSmError> {
    Sm::known(name.trim())
}

fn processor_word(name: &str) -> Result<Word<Sm>, UnknownSmError> {
    processor(name).map(Word)
}

/// What manifests list; a single item needs no list.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a string, or a list of strings")]
enum Listed {
    One(String),
    Several(Vec<String>),
}

impl From<Listed> for Vec<String> {
    fn from(listed: Listed) -> Self {
        match listed {
            Listed::One(item) => vec![item],
            Listed::Several(items) => items,
        }
    }
}

fn processors<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Word<Sm>>, D::Error> {
    let names: Vec<String> = Listed::deserialize(deserializer)?.into();
    let processors = names.iter().map(|name| processor_word(name));
    processors
        .collect::<Result<_, _>>()
        .map_err(de::Error::custom)
}

fn paths<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
    let paths: Vec<String> = Listed::deserialize(deserializer)?.into();
    Ok(paths.into_iter().map(PathBuf::from).collect())
}

/// A value that manifests and command lines spell in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word<T>(pub(crate) T);

impl<T: FromStr> FromStr for Word<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, T::Err> {
        text.parse().map(Self)
    }
}

impl<T: Display> Serialize for Word<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(json: &str) -> Settings {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn upper_choices_win_one_by_one() {
        let upper = settings(r#"{"arch": ["sm_90"], "device-debug": false}"#);
        let lower = settings(r#"{"arch": ["sm_80"], "device-debug": true, "kernels": "used"}"#);
        let expected = settings(r#"{"arch": ["sm_90"], "device-debug": false, "kernels": "used"}"#);
        assert_eq!(upper.or(&lower), expected);
    }

    #[test]
    fn a_single_item_needs_no_list() {
        let listed = settings(r#"{"arch": ["sm_90"], "libraries": ["a,b.a"]}"#);
        assert_eq!(
            settings(r#"{"arch": "sm_90", "libraries": "a,b.a"}"#),
            listed
        );
    }

    #[test]
    fn unknown_words_are_errors() {
        for (json, part) in [
            (
                r#"{"arch": 90}"#,
                "arch: expected a string, or a list of strings",
            ),
            (r#"{"arch": [], "dlto": "yes"}"#, "dlto: invalid type"),
            (r#"{"archs": ["sm_90"]}"#, "unknown field `archs`"),
            (r#"{"arch": ["sm_banana"]}"#, "sm_banana"),
            (r#"{"arch": ["sm_35"]}"#, "there is no processor 'sm_35'"),
            (r#"{"compress-mode": "much"}"#, "much"),
        ] {
            let value = serde_json::from_str(json).unwrap();
            let error = Settings::read(&value).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
    }

    #[test]
    fn paths_are_relative_to_the_manifest_and_versions_are_not_paths() {
        let check = |toolkit: &str, expected: &str| {
            let settings = Settings {
                toolkit: Some(toolkit.into()),
                ..Settings::default()
            };
            let found = settings.in_folder(Path::new("/ws")).toolkit;
            assert_eq!(found, Some(expected.into()));
        };
        check("cuda", "/ws/cuda");
        check("/opt/cuda", "/opt/cuda");
        check("13.0.88", "13.0.88");
    }
}
