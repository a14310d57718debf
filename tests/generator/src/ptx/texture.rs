//! Writes what reads textures and surfaces, by their names or by addresses.

use crate::feature::Feature;

use super::Writer;

/// Instructions on textures: `@` stands for the texture, with its sampler where the unit says which.
const TEXTURES: &[&str] = &[
    "tex.1d.v4.f32.s32 {%t0, %t1, %t2, %t3}, [@, {%i}];",
    "tex.1d.v4.f32.f32 {%t0, %t1, %t2, %t3}, [@, {%t0}];",
    "tex.2d.v4.f32.f32 {%t0, %t1, %t2, %t3}, [@, {%t0, %t0}];",
    "tex.3d.v4.f32.f32 {%t0, %t1, %t2, %t3}, [@, {%t0, %t0, %t0, %t0}];",
    "tex.a1d.v4.f32.f32 {%t0, %t1, %t2, %t3}, [@, {%i, %t0}];",
    "tex.a2d.v4.s32.f32 {%i, %j, %j, %j}, [@, {%i, %t0, %t0, %t0}];",
    "tex.cube.v4.f32.f32 {%t0, %t1, %t2, %t3}, [@, {%t0, %t0, %t0, %t0}];",
    "tex.level.2d.v4.f32.f32 {%t0, %t1, %t2, %t3}, [@, {%t0, %t0}], %t0;",
    "tex.grad.1d.v4.f32.f32 {%t0, %t1, %t2, %t3}, [@, {%t0}], {%t0}, {%t0};",
    "tld4.g.2d.v4.f32.f32 {%t0, %t1, %t2, %t3}, [@, {%t0, %t0}];",
];

/// Questions about textures, which need no sampler.
const QUERIES: &[&str] = &[
    "txq.width.b32 %i, [@];",
    "txq.height.b32 %i, [@];",
    "txq.channel_order.b32 %i, [@];",
];

/// Instructions on surfaces.
const SURFACES: &[&str] = &[
    "suld.b.1d.b32.trap {%i}, [@, {%j}];",
    "suld.b.2d.v2.b32.clamp {%i, %j}, [@, {%i, %j}];",
    "suld.b.a1d.b32.zero {%i}, [@, {%i, %j}];",
    "suld.b.3d.v4.b32.trap {%i, %j, %i, %j}, [@, {%i, %j, %i, %j}];",
    "sust.b.1d.b32.trap [@, {%i}], {%j};",
    "sust.b.2d.v4.b32.zero [@, {%i, %j}], {%i, %j, %i, %j};",
    "sust.p.1d.v4.b32.trap [@, {%i}], {%i, %j, %i, %j};",
    "sured.b.add.1d.u32.trap [@, {%i}], %j;",
    "suq.width.b32 %i, [@];",
];

impl Writer<'_> {
    /// A texture or surface that is a symbol.
    pub(super) fn texture(&mut self) -> String {
        let name = *self.random.pick(&["tex_a", "tex_b", "surf_a"]);
        if name == "surf_a" {
            self.need(Feature::Texture, ".global .surfref surf_a;");
            return "\t.reg .b32 %t;\n\tsuld.b.1d.b32.trap {%t}, [surf_a, {%acc}];\n\tmov.b32 %acc, %t;".to_owned();
        }
        // A reference that all units share.
        let linkage = match (self.unit, name) {
            (_, "tex_a") => "",
            (0, _) => ".visible ",
            _ => ".extern ",
        };
        self.need(
            Feature::Texture,
            &format!("{linkage}.global .texref {name};"),
        );
        let name = self.sampled(name);
        format!(
            "\t.reg .f32 %t<4>;\n\tmov.b32 %t0, %acc;\n\ttex.1d.v4.f32.s32 {{%t0, %t1, %t2, %t3}}, [{name}, {{%acc}}];\n\tmov.b32 %acc, %t1;"
        )
    }

    /// Textures and surfaces that are not symbols.
    pub(super) fn texture_object(&mut self) -> String {
        let text = *self.random.pick(&[
            "\t.reg .f32 %t<4>;\n\tmov.b32 %t0, %acc;\n\ttex.1d.v4.f32.f32 {%t0, %t1, %t2, %t3}, [@, {%t0}];\n\tmov.b32 %acc, %t1;",
            "\t.reg .f32 %t<4>;\n\tmov.b32 %t0, %acc;\n\ttex.2d.v4.f32.f32 {%t0, %t1, %t2, %t3}, [@, {%t0, %t0}];\n\tmov.b32 %acc, %t3;",
            "\t.reg .b32 %t;\n\tsuld.b.1d.b32.trap {%t}, [%ptr, {%acc}];\n\tmov.b32 %acc, %t;",
            "\tsust.b.2d.b32.trap [%ptr, {%acc, %acc}], {%acc};",
        ]);
        match text.contains('@') {
            true => text.replace('@', &self.sampled("%ptr")),
            false => text.to_owned(),
        }
    }

    /// An instruction on a texture or surface, in all the ways to name these.
    pub(super) fn sampler(&mut self) -> String {
        let (instructions, kind, names): (_, _, &[&str]) = match self.random.below(8) {
            0..=3 => (TEXTURES, "texref", &["tex_a", "tex_c", "tex_d"]),
            4 => (QUERIES, "texref", &["tex_a", "tex_c", "tex_d"]),
            _ => (SURFACES, "surfref", &["surf_a", "surf_c", "surf_d"]),
        };
        let instruction = *self.random.pick(instructions);
        let name = *self.random.pick(names);
        let linkage = match (name.ends_with("_a"), name.ends_with("_c"), self.unit) {
            (true, ..) => "",
            (_, true, 0) => ".visible ",
            (_, true, _) => ".extern ",
            _ => ".weak ",
        };
        self.need(
            Feature::Sampler,
            &format!("{linkage}.global .{kind} {name};"),
        );
        let (get, operand) = match self.random.below(4) {
            0 => (format!("\tmov.u64 %n, {name};\n"), "%n".to_owned()),
            1 => (String::new(), "%ptr".to_owned()),
            _ => (String::new(), name.to_owned()),
        };
        let operand = match instructions == TEXTURES {
            true => self.sampled(&operand),
            false => operand,
        };
        format!(
            "\t.reg .f32 %t<4>;\n\t.reg .b32 %i, %j;\n\t.reg .b64 %n;\n\tmov.b32 %t0, %acc;\n\tmov.b32 %t1, %acc;\n\t\
             mov.b32 %i, %acc;\n\tmov.b32 %j, %acc;\n{get}\t{}\n\tadd.u32 %acc, %i, %j;\n\tmov.b32 %i, %t1;\n\tadd.u32 %acc, %acc, %i;",
            instruction.replace('@', &operand)
        )
    }

    /// A texture beside the sampler that is to read it, in units that name both.
    fn sampled(&mut self, texture: &str) -> String {
        if !self.independent {
            return texture.to_owned();
        }
        if texture.starts_with('%') {
            return format!("{texture}, {texture}");
        }
        let name = self.random.pick(&["smp_a", "smp_b"]).to_string();
        let (linkage, name) = match &*name {
            "smp_a" => ("", name),
            _ => (".visible ", format!("{name}{}", self.unit)),
        };
        self.need(
            Feature::Sampler,
            &format!("{linkage}.global .samplerref {name};"),
        );
        format!("{texture}, {name}")
    }
}
