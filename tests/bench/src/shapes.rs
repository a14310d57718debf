//! The shapes: families of programs that grow in one respect.

use crate::ptx::{self, Body};

/// The text of one file of a shape.
type Source = Box<dyn Fn(usize) -> String + Sync>;

/// What the linkers get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    /// Device objects.
    Cubin,
    /// Fatbins with one compressed device object each.
    Fatbin,
}

impl Form {
    /// What names of files end in.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::Cubin => "cubin",
            Self::Fatbin => "fatbin",
        }
    }
}

/// One program.
pub(crate) struct Shape {
    pub(crate) name: String,
    pub(crate) form: Form,
    /// How many files it has.
    pub(crate) files: usize,
    pub(crate) source: Source,
}

impl Shape {
    fn new(name: String, files: usize, source: impl Fn(usize) -> String + Sync + 'static) -> Self {
        Self {
            name,
            form: Form::Cubin,
            files,
            source: Box::new(source),
        }
    }

    /// The same program in compressed fatbins.
    fn compressed(self) -> Self {
        Self {
            name: format!("{}, compressed", self.name),
            form: Form::Fatbin,
            ..self
        }
    }

    /// Whether its name contains one of these; without any, all do.
    pub(crate) fn is_named(&self, filters: &[String]) -> bool {
        filters.is_empty() || filters.iter().any(|filter| self.name.contains(filter))
    }
}

/// Every shape, in the order of the table.
pub(crate) fn all() -> Vec<Shape> {
    let mut shapes = vec![objects(2, 3), objects(200, 20), objects(1000, 50)];
    shapes.push(objects(200, 20).compressed());
    shapes.extend([500, 1000, 2000].map(kernels_and_functions));
    shapes.extend([200, 500, 1000].map(indirect_calls));
    shapes.extend([500, 1000, 2000].map(shared_variables));
    shapes.extend([20, 28, 500].map(diamonds));
    shapes.extend([22, 26, 200].map(dense));
    shapes.push(chain(100, 200));
    shapes.push(weak_duplicates(500, 50));
    shapes.push(static_functions(1000));
    shapes.push(global_variables(200, 100));
    shapes
}

/// The last file of a shape.
fn is_last(index: usize) -> bool {
    index == 1
}

/// Objects of one kernel and some functions each; everything calls the next object.
fn objects(files: usize, functions: usize) -> Shape {
    let name = format!("{files} objects, {functions} functions each");
    Shape::new(name, files, move |file| {
        let function = |file: usize, index: usize| format!("object{file}_function{index}");
        let mut text = String::new();
        let next = (file + 1) % files;
        text += &ptx::extern_function(&function(next, 0));
        for index in 0..functions {
            let mut body = Body::new().compute(file * functions + index);
            if index % 10 == 1 && next != 0 {
                body = body.call(&function(next, 0));
            } else if index > 0 && index % 3 == 0 {
                body = body.call(&function(file, index - 1));
            }
            text += &body.function(".visible", &function(file, index));
        }
        // What no other function calls; nothing of the program is dead.
        let heads = (0..functions).filter(|index| index % 3 != 2 || index + 1 == functions);
        let kernel = heads.fold(Body::new(), |body, index| body.call(&function(file, index)));
        text + &kernel.kernel(&format!("object{file}_kernel"))
    })
}

/// Kernels that all reach the same functions.
fn kernels_and_functions(count: usize) -> Shape {
    let name = format!("{count} kernels reach {count} functions");
    Shape::new(name, 2, move |file| {
        let functions = (0..count).map(|index| format!("function{index}"));
        if is_last(file) {
            let mut text = String::new();
            let mut hub = Body::new();
            for (index, function) in functions.enumerate() {
                text += &Body::new().compute(index).function(".visible", &function);
                hub = hub.call(&function);
            }
            text + &hub.function(".visible", "hub")
        } else {
            kernels(count, "hub")
        }
    })
}

/// Kernels that do nothing but call one function.
fn kernels(count: usize, callee: &str) -> String {
    let kernels = (0..count).map(|index| {
        let body = Body::new().compute(index).call(callee);
        body.kernel(&format!("kernel{index}"))
    });
    ptx::extern_function(callee) + &kernels.collect::<String>()
}

/// Kernels that call through a table of functions.
fn indirect_calls(count: usize) -> Shape {
    let name = format!("{count} kernels call {count} functions by pointer");
    Shape::new(name, 2, move |file| {
        if is_last(file) {
            let mut text = String::new();
            let names: Vec<String> = (0..count).map(|index| format!("function{index}")).collect();
            for (index, name) in names.iter().enumerate() {
                text += &Body::new().compute(index).function(".visible", name);
            }
            text + &format!(
                ".visible .global .align 8 .u64 table[{count}] = {{{}}};\n",
                names.join(", ")
            )
        } else {
            let kernels = (0..count).map(|index| {
                let body = Body::new().compute(index).call_entry_of("table");
                body.kernel(&format!("kernel{index}"))
            });
            format!(".extern .global .align 8 .u64 table[{count}];\n")
                + &kernels.collect::<String>()
        }
    })
}

/// Kernels that all see the same variables in shared memory.
fn shared_variables(count: usize) -> Shape {
    let name = format!("{count} kernels see {count} shared variables");
    Shape::new(name, 2, move |file| {
        if is_last(file) {
            let mut text = String::new();
            let mut hub = Body::new();
            for index in 0..count {
                text += &format!(".visible .shared .align 4 .u32 shared{index};\n");
                hub = hub.add_shared(&format!("shared{index}"));
            }
            text + &hub.function(".visible", "hub")
        } else {
            kernels(count, "hub")
        }
    })
}

/// Levels of two functions that both call both of the next level.
fn diamonds(levels: usize) -> Shape {
    let name = format!("diamond call graph of {levels} levels");
    Shape::new(name, 2, move |file| {
        if is_last(file) {
            let function = |level: usize, side: usize| format!("level{level}_{side}");
            let mut text = String::new();
            for level in (0..levels).rev() {
                for side in 0..2 {
                    let mut body = Body::new().compute(level * 2 + side);
                    if level + 1 < levels {
                        body = body.call(&function(level + 1, 0));
                        body = body.call(&function(level + 1, 1));
                    }
                    text += &body.function(".visible", &function(level, side));
                }
            }
            text
        } else {
            kernels(1, "level0_0")
        }
    })
}

/// Functions that each call all that follow.
fn dense(count: usize) -> Shape {
    let name = format!("{count} functions, each calls all later ones");
    Shape::new(name, 2, move |file| {
        if is_last(file) {
            let mut text = String::new();
            for index in (0..count).rev() {
                let mut body = Body::new().compute(index);
                for later in index + 1..count {
                    body = body.call(&format!("function{later}"));
                }
                text += &body.function(".visible", &format!("function{index}"));
            }
            text
        } else {
            kernels(1, "function0")
        }
    })
}

/// Functions that each call the next one, through all files.
fn chain(files: usize, functions: usize) -> Shape {
    let name = format!("chain of {} functions", files * functions);
    Shape::new(name, files, move |file| {
        let function = |index: usize| format!("function{index}");
        let (first, behind) = (file * functions, (file + 1) * functions);
        let is_end = |index: usize| index == files * functions;
        let mut text = String::new();
        if !is_end(behind) {
            text += &ptx::extern_function(&function(behind));
        }
        for index in (first..behind).rev() {
            let body = Body::new().compute(index);
            let body = match is_end(index + 1) {
                true => body,
                false => body.call(&function(index + 1)),
            };
            text += &body.function(".visible", &function(index));
        }
        match file {
            0 => text + &Body::new().call(&function(0)).kernel("kernel"),
            _ => text,
        }
    })
}

/// The same weak functions in every object, as templates and inline functions are.
fn weak_duplicates(files: usize, functions: usize) -> Shape {
    let name = format!("{files} objects with the same {functions} weak functions");
    Shape::new(name, files, move |file| {
        let mut text = String::new();
        let mut kernel = Body::new().compute(file);
        for index in 0..functions {
            let name = format!("inline{index}");
            text += &Body::new().compute(index).function(".weak", &name);
            kernel = kernel.call(&name);
        }
        text + &kernel.kernel(&format!("kernel{file}"))
    })
}

/// Objects that each have static functions of the same names.
fn static_functions(files: usize) -> Shape {
    let name = format!("{files} objects with static functions of one name");
    Shape::new(name, files, |file| {
        let mut text = ptx::forward("", "helper");
        text += &Body::new()
            .call("helper")
            .function(".visible", &format!("function{file}"));
        text += &Body::new().compute(file).function("", "helper");
        let kernel = Body::new().call(&format!("function{file}"));
        text + &kernel.kernel(&format!("kernel{file}"))
    })
}

/// Functions that each use variables of their own, all of which another object
/// defines.
fn global_variables(functions: usize, variables: usize) -> Shape {
    let count = functions * variables;
    let name = format!("{count} global variables");
    Shape::new(name, 2, move |file| {
        let names = |function: usize| {
            let own = function * variables..(function + 1) * variables;
            own.map(|variable| format!("variable{variable}"))
        };
        let mut text = String::new();
        for name in (0..functions).flat_map(names) {
            text += &ptx::global_variable(&name, is_last(file));
        }
        if is_last(file) {
            return text;
        }
        let function = |index: usize| format!("function{index}");
        for index in 0..functions {
            let body = names(index).fold(Body::new(), |body, name| body.add_global(&name));
            text += &body.function(".visible", &function(index));
        }
        let kernel = (0..functions).fold(Body::new(), |body, index| body.call(&function(index)));
        text + &kernel.kernel("kernel")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ() {
        let mut names: Vec<String> = all().into_iter().map(|shape| shape.name).collect();
        names.sort();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn the_same_text_every_time() {
        for (one, other) in all().iter().zip(all()) {
            assert_eq!((one.source)(0), (other.source)(0), "{}", one.name);
        }
    }
}
