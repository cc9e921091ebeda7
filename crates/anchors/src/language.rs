//! The languages whose symbols are recognised, and what counts as a symbol in each.

use std::path::Path;

/// A language with a grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    C,
    Cpp,
    Go,
    Java,
    JavaScript,
    Python,
    Ruby,
    Rust,
    Tsx,
    TypeScript,
}

/// The role of a node in a syntax tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A symbol, and a scope for those within it.
    Symbol,
    /// A symbol only if it has this field, such as a `struct` with a body.
    SymbolWith(&'static str),
    /// Only a scope: its members are named `scope::name`.
    Scope,
    /// A constant: a symbol if it gets a value and is not inside a function.
    Constant,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::C,
        Self::Cpp,
        Self::Go,
        Self::Java,
        Self::JavaScript,
        Self::Python,
        Self::Ruby,
        Self::Rust,
        Self::Tsx,
        Self::TypeScript,
    ];

    /// The language of a file, by its name. A header (`.h`) is read as C++, of which C is nearly a part.
    pub fn of_path(path: &str) -> Option<Self> {
        let extension = Path::new(path).extension()?.to_str()?;
        Some(match extension.to_ascii_lowercase().as_str() {
            "c" => Self::C,
            "h" | "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" => Self::Cpp,
            "go" => Self::Go,
            "java" => Self::Java,
            "js" | "mjs" | "cjs" | "jsx" => Self::JavaScript,
            "py" | "pyi" => Self::Python,
            "rb" => Self::Ruby,
            "rs" => Self::Rust,
            "tsx" => Self::Tsx,
            "ts" | "mts" | "cts" => Self::TypeScript,
            _ => return None,
        })
    }

    pub(crate) fn grammar(self) -> tree_sitter::Language {
        match self {
            Self::C => tree_sitter_c::LANGUAGE.into(),
            Self::Cpp => tree_sitter_cpp::LANGUAGE.into(),
            Self::Go => tree_sitter_go::LANGUAGE.into(),
            Self::Java => tree_sitter_java::LANGUAGE.into(),
            Self::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::Ruby => tree_sitter_ruby::LANGUAGE.into(),
            Self::Rust => tree_sitter_rust::LANGUAGE.into(),
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        }
    }

    /// The role of a kind of node, by its name in the grammar.
    pub(crate) fn role(self, kind: &str) -> Option<Role> {
        match self {
            Self::Rust => rust(kind),
            Self::Python => python(kind),
            Self::TypeScript | Self::Tsx | Self::JavaScript => script(kind),
            Self::Go => go(kind),
            Self::Java => java(kind),
            Self::C | Self::Cpp => c(kind),
            Self::Ruby => ruby(kind),
        }
    }

    /// Whether nodes of this kind hold statements that run. Names inside are of no use outside.
    pub(crate) fn is_body(self, kind: &str) -> bool {
        match self {
            Self::Rust | Self::Go | Self::Java => kind == "block",
            Self::Python => false,
            Self::TypeScript | Self::Tsx | Self::JavaScript => kind == "statement_block",
            Self::C | Self::Cpp => kind == "compound_statement",
            Self::Ruby => kind == "body_statement",
        }
    }
}

fn rust(kind: &str) -> Option<Role> {
    Some(match kind {
        "function_item"
        | "function_signature_item"
        | "struct_item"
        | "enum_item"
        | "union_item"
        | "trait_item"
        | "type_item"
        | "const_item"
        | "static_item"
        | "macro_definition" => Role::Symbol,
        "impl_item" | "mod_item" => Role::Scope,
        _ => return None,
    })
}

fn python(kind: &str) -> Option<Role> {
    Some(match kind {
        "function_definition" | "class_definition" | "type_alias_statement" => Role::Symbol,
        "assignment" => Role::Constant,
        _ => return None,
    })
}

fn script(kind: &str) -> Option<Role> {
    Some(match kind {
        "function_declaration"
        | "generator_function_declaration"
        | "class_declaration"
        | "abstract_class_declaration"
        | "method_definition"
        | "interface_declaration"
        | "type_alias_declaration"
        | "enum_declaration" => Role::Symbol,
        "internal_module" | "module" => Role::Scope,
        "variable_declarator" | "field_definition" | "public_field_definition" | "assignment_expression" => {
            Role::Constant
        }
        _ => return None,
    })
}

fn go(kind: &str) -> Option<Role> {
    Some(match kind {
        "function_declaration" | "method_declaration" | "type_spec" | "type_alias" => Role::Symbol,
        "const_spec" | "var_spec" => Role::Constant,
        _ => return None,
    })
}

fn java(kind: &str) -> Option<Role> {
    Some(match kind {
        "class_declaration"
        | "interface_declaration"
        | "enum_declaration"
        | "record_declaration"
        | "annotation_type_declaration"
        | "method_declaration"
        | "constructor_declaration" => Role::Symbol,
        "variable_declarator" => Role::Constant,
        _ => return None,
    })
}

fn c(kind: &str) -> Option<Role> {
    Some(match kind {
        "function_definition"
        | "preproc_def"
        | "preproc_function_def"
        | "type_definition"
        | "alias_declaration"
        | "concept_definition" => Role::Symbol,
        "struct_specifier" | "union_specifier" | "enum_specifier" | "class_specifier" => {
            Role::SymbolWith("body")
        }
        "namespace_definition" => Role::Scope,
        "init_declarator" => Role::Constant,
        _ => return None,
    })
}

fn ruby(kind: &str) -> Option<Role> {
    Some(match kind {
        "method" | "singleton_method" | "class" | "module" => Role::Symbol,
        "assignment" => Role::Constant,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_grammar_can_be_used_and_has_the_kinds_that_are_looked_for() {
        let kinds: [(Language, &[&str]); 10] = [
            (Language::C, &["function_definition", "preproc_def", "struct_specifier", "init_declarator"]),
            (Language::Cpp, &["class_specifier", "namespace_definition", "alias_declaration"]),
            (Language::Go, &["method_declaration", "type_spec", "type_alias", "const_spec", "var_spec"]),
            (Language::Java, &["record_declaration", "constructor_declaration", "variable_declarator"]),
            (
                Language::JavaScript,
                &["generator_function_declaration", "field_definition", "assignment_expression"],
            ),
            (Language::Python, &["function_definition", "class_definition", "assignment"]),
            (Language::Ruby, &["singleton_method", "module", "assignment", "body_statement"]),
            (Language::Rust, &["function_signature_item", "impl_item", "macro_definition", "union_item"]),
            (Language::Tsx, &["public_field_definition", "interface_declaration"]),
            (Language::TypeScript, &["abstract_class_declaration", "internal_module", "enum_declaration"]),
        ];
        for (language, kinds) in kinds {
            let grammar = language.grammar();
            tree_sitter::Parser::new().set_language(&grammar).unwrap();
            for kind in kinds {
                assert_ne!(grammar.id_for_node_kind(kind, true), 0, "{language:?} has no {kind}");
                assert!(language.role(kind).is_some() || language.is_body(kind), "{language:?} {kind}");
            }
        }
    }

    #[test]
    fn a_file_is_known_by_its_name() {
        for (path, language) in [
            ("src/a.rs", Some(Language::Rust)),
            ("A.TSX", Some(Language::Tsx)),
            ("x.d.ts", Some(Language::TypeScript)),
            ("include/x.h", Some(Language::Cpp)),
            ("README.md", None),
            ("Makefile", None),
            (".rs", None),
            ("", None),
        ] {
            assert_eq!(Language::of_path(path), language, "{path}");
        }
    }
}
