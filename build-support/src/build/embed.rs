//! Device code without host code, which a program embeds.

use std::path::{Path, PathBuf};

use cudalink_bindings::Bindings;
use cudalink_toolkit::NotFound;
use rustnvlink::arch::Sm;
use rustnvlink::device_link::Linked;
use rustnvlink::fatbin::FatbinOptions;

use super::{Build, write};
use crate::compile::{self, Code, Product};
use crate::device::{self, Input};
use crate::error::Error;
use crate::{environment, output, places, toolchain};

impl Build {
    /// See [`Build::embed`].
    ///
    /// # Errors
    ///
    /// Fails if a source does not compile, the device code does not link, or neither a toolkit nor what it would make is
    /// there.
    pub fn try_embed(&self, name: &str) -> Result<(), Error> {
        let name = places::files(name)?;
        let folder = environment::out_dir()?;
        let linked = self.linked_alone(&folder.join(name))?;
        let image = linked
            .fatbin(&FatbinOptions::default())
            .map_err(Error::write)?;
        let file = folder.join(format!("{name}.fatbin"));
        places::take(&file)?;
        write(&file, &image)?;
        let bindings = Bindings::collect(&linked, "the build script").map_err(Error::write)?;
        let module = bindings.rust(name, image.len());
        write(&folder.join(format!("{name}.rs")), module.as_bytes())
    }

    /// The images for all processors. What is compiled lies in `folder`.
    fn linked_alone(&self, folder: &Path) -> Result<Linked, Error> {
        let targets = self.targets()?;
        let toolkit = match (toolchain::find(), &self.prebuilt) {
            (Err(Error::NoToolkit(missing)), Some(prebuilt)) => {
                return self.linked_of_prebuilt(prebuilt, &targets, missing);
            }
            (found, _) => found?,
        };
        let compiler = self.compiler(&toolkit, targets.clone())?;
        let made = compiler.compile(self.sources()?, Product::Fatbin, folder)?;
        let mut inputs: Vec<Input> = made.into_iter().map(Input::from).collect();
        inputs.extend(self.libraries());
        device::link(&inputs, &targets, Some(&toolkit), self.code()?, None)
    }

    /// The same without a toolkit, of what the package brings.
    fn linked_of_prebuilt(
        &self,
        prebuilt: &Path,
        targets: &[Sm],
        missing: NotFound,
    ) -> Result<Linked, Error> {
        let objects = self.prebuilt_objects(prebuilt, targets, missing)?;
        let mut inputs: Vec<Input> = objects.into_iter().map(Input::from).collect();
        inputs.extend(self.libraries());
        let mut all = Linked::default();
        for sm in targets {
            // A cubin is for one processor, so each link has its own.
            let end = format!(".{sm}.cubin");
            let own = inputs.iter().filter(|input| {
                let name = input.path().to_string_lossy();
                !name.ends_with(".cubin") || name.ends_with(&end)
            });
            let own: Vec<Input> = own.cloned().collect();
            let one = device::link(&own, &[*sm], None, Code::Machine, None)?;
            all.images.extend(one.images);
        }
        Ok(all)
    }

    /// What the package brings for builds without a toolkit.
    fn prebuilt_objects(
        &self,
        folder: &Path,
        targets: &[Sm],
        toolkit: NotFound,
    ) -> Result<Vec<PathBuf>, Error> {
        let mut objects = Vec::new();
        for sm in targets {
            let names = compile::names(self.sources()?, Product::Cubin(*sm))?;
            objects.extend(names.into_iter().map(|name| folder.join(name)));
        }
        output::depends_on(folder);
        match objects.iter().find(|object| !object.is_file()) {
            Some(missing) => Err(Error::NoToolkitAndNoObject {
                toolkit,
                object: missing.clone(),
            }),
            None => Ok(objects),
        }
    }
}
