//! The symbols of a source file: functions, methods, types and constants, with their bytes.

use std::ops::{ControlFlow, Range};

use tree_sitter::{Node, ParseOptions, ParseState, Parser};

use crate::language::{Language, Role};

/// Largest file that is read, in bytes.
pub const FILE_BYTES_MAX: usize = 1024 * 1024;
/// Most symbols of one file.
pub const SYMBOLS_MAX: usize = 20_000;
/// Deepest node that is visited; code written by people has some dozens of levels.
const DEPTH_MAX: usize = 500;
/// What JavaScript may assign to a member and calls by its name.
const FUNCTIONS: [&str; 4] = ["function_expression", "arrow_function", "generator_function", "class"];
/// Longest name of a symbol with its scopes, in bytes.
const NAME_BYTES_MAX: usize = 200;
/// How much of a file's beginning is checked for zero bytes, which mean that it is not text.
const SNIFFED_BYTES: usize = 8 * 1024;

/// A symbol and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Its name with its scopes, `Type::method`, whatever separator the language uses.
    pub name: String,
    /// Its bytes, from its first keyword or decorator to its end, without comments and attributes before it.
    pub span: Range<usize>,
}

/// The symbols of a file in the order of the text; `None` when it is too large, not text, or `may_go_on` returned
/// false.
///
/// `may_go_on` is called from time to time during parsing, so that a caller can bound the time.
pub fn symbols(language: Language, bytes: &[u8], may_go_on: &mut dyn FnMut() -> bool) -> Option<Vec<Symbol>> {
    if !is_source(bytes) {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&language.grammar()).ok()?;
    let mut progress =
        |_: &ParseState| if may_go_on() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let tree =
        parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options))?;
    let mut walk = Walk { language, bytes, above: Vec::new(), scopes: Vec::new(), found: Vec::new() };
    walk.tree(tree.root_node(), may_go_on)?;
    Some(walk.found)
}

/// Whether bytes are text within the size limit.
pub(crate) fn is_source(bytes: &[u8]) -> bool {
    bytes.len() <= FILE_BYTES_MAX && !bytes[..bytes.len().min(SNIFFED_BYTES)].contains(&0)
}

/// A scope that the walk is in.
struct Open {
    /// The depth of its node.
    depth: usize,
    /// Its name; empty for a body of statements.
    name: String,
    /// Whether it is a function's body.
    is_body: bool,
}

struct Walk<'b> {
    language: Language,
    bytes: &'b [u8],
    /// The ancestors of the present node; asking a node for its parent would search from the root.
    above: Vec<Node<'b>>,
    scopes: Vec<Open>,
    found: Vec<Symbol>,
}

impl<'b> Walk<'b> {
    /// Visits all nodes without recursion, because foreign text may nest arbitrarily deep.
    fn tree(&mut self, root: Node<'b>, may_go_on: &mut dyn FnMut() -> bool) -> Option<()> {
        let mut cursor = root.walk();
        let mut visited = 0_u32;
        loop {
            visited = visited.wrapping_add(1);
            if visited.is_multiple_of(4_096) && !may_go_on() {
                return None;
            }
            let depth = self.above.len();
            while self.scopes.last().is_some_and(|open| open.depth >= depth) {
                self.scopes.pop();
            }
            let node = cursor.node();
            let descends = self.node(node, depth);
            if self.found.len() >= SYMBOLS_MAX {
                return Some(());
            }
            if descends && depth < DEPTH_MAX && cursor.goto_first_child() {
                self.above.push(node);
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return Some(());
                }
                self.above.pop();
            }
        }
    }

    /// Visits one node. Returns whether to visit its children.
    fn node(&mut self, node: Node<'_>, depth: usize) -> bool {
        let kind = node.kind();
        if !node.is_named() {
            return false;
        }
        let in_body = self.scopes.iter().any(|open| open.is_body);
        if self.is_body(node) {
            self.scopes.push(Open { depth, name: String::new(), is_body: true });
            return true;
        }
        let Some(role) = self.language.role(kind) else { return true };
        let Some(name) = self.name(node) else { return true };
        let is_symbol = match role {
            Role::Scope => false,
            Role::Symbol => true,
            Role::SymbolWith(field) => node.child_by_field_name(field).is_some(),
            Role::Constant => !in_body && self.is_constant(node, &name),
        };
        let qualified = self.qualified(&name);
        if is_symbol && qualified.len() <= NAME_BYTES_MAX {
            self.found.push(Symbol { name: qualified, span: self.span(node) });
        }
        if role != Role::Constant {
            self.scopes.push(Open { depth, name, is_body: false });
        }
        true
    }

    /// Whether a node holds statements that run. Python and Ruby use the same kind of block for classes.
    fn is_body(&self, node: Node<'_>) -> bool {
        let of_function = |kinds: &[&str]| node.parent().is_some_and(|parent| kinds.contains(&parent.kind()));
        match self.language {
            Language::Python => node.kind() == "block" && of_function(&["function_definition"]),
            Language::Ruby => {
                self.language.is_body(node.kind()) && of_function(&["method", "singleton_method"])
            }
            language => language.is_body(node.kind()),
        }
    }

    /// Whether a variable is a constant, by the rules or conventions of the language.
    fn is_constant(&self, node: Node<'_>, name: &str) -> bool {
        let is_upper = name.chars().next().is_some_and(char::is_uppercase);
        match self.language {
            Language::Python => is_upper && !name.contains(char::is_lowercase),
            Language::Ruby => is_upper,
            Language::C | Language::Cpp | Language::Go => true,
            _ if node.kind() == "assignment_expression" => {
                let right = node.child_by_field_name("right");
                right.is_some_and(|right| FUNCTIONS.contains(&right.kind()))
            }
            _ => node.child_by_field_name("value").is_some(),
        }
    }

    fn text(&self, node: Node<'_>) -> Option<String> {
        let text = std::str::from_utf8(self.bytes.get(node.byte_range())?).ok()?;
        let is_name = !text.is_empty() && text.len() <= NAME_BYTES_MAX && !text.contains(char::is_whitespace);
        is_name.then(|| text.to_owned())
    }

    /// The name that a definition gives.
    fn name(&self, node: Node<'_>) -> Option<String> {
        let field = match node.kind() {
            "impl_item" => "type",
            "assignment" | "assignment_expression" => "left",
            "field_definition" => "property",
            "function_definition" | "type_definition" | "init_declarator"
                if matches!(self.language, Language::C | Language::Cpp) =>
            {
                "declarator"
            }
            _ => "name",
        };
        let named = innermost(node.child_by_field_name(field)?);
        let is_plain = match node.kind() {
            "assignment" => matches!(named.kind(), "identifier" | "constant"),
            "assignment_expression" => named.kind() == "member_expression",
            _ => true,
        };
        let name = self.text(named).filter(|_| is_plain)?;
        if self.language == Language::Go && node.kind() == "method_declaration" {
            let receiver = self.receiver(node)?;
            return Some(format!("{receiver}::{name}"));
        }
        if node.kind() == "assignment_expression" {
            return assigned(&name);
        }
        Some(name.replace('.', "::"))
    }

    /// The type of a Go method's receiver.
    fn receiver(&self, node: Node<'_>) -> Option<String> {
        let list = node.child_by_field_name("receiver")?;
        let one = list.named_child(0)?;
        self.text(innermost(one.child_by_field_name("type")?))
    }

    fn qualified(&self, name: &str) -> String {
        let scopes = self.scopes.iter().filter(|open| !open.is_body).map(|open| open.name.as_str());
        let parts: Vec<&str> = scopes.chain([name]).collect();
        parts.join("::")
    }

    /// The bytes of a symbol, including decorators; for a field, including type and modifiers.
    fn span(&self, node: Node<'_>) -> Range<usize> {
        let wraps = |parent: &Node<'_>| {
            matches!(
                (self.language, parent.kind()),
                (Language::Python, "decorated_definition")
                    | (Language::Java, "field_declaration")
                    | (Language::C | Language::Cpp, "declaration" | "template_declaration")
            )
        };
        let wrapping = self.above.iter().rev().take_while(|parent| wraps(parent)).last();
        wrapping.unwrap_or(&node).byte_range()
    }
}

/// What an assignment to a member defines: `exports.f = …`, `module.exports.f = …`, `Type.prototype.f = …`.
fn assigned(left: &str) -> Option<String> {
    let exported = ["module.exports.", "exports."].into_iter().find_map(|of| left.strip_prefix(of));
    let name = match exported {
        Some(name) => name.to_owned(),
        None => left.split_once(".prototype.").map(|(of, name)| format!("{of}.{name}"))?,
    };
    Some(name.replace('.', "::"))
}

/// The name inside a declarator or type, below pointers, parameters and type arguments.
fn innermost(node: Node<'_>) -> Node<'_> {
    let mut node = node;
    // Declarators written by people have two or three layers.
    for _ in 0..16 {
        let inner = match node.kind() {
            "pointer_declarator"
            | "function_declarator"
            | "array_declarator"
            | "init_declarator"
            | "attributed_declarator" => node.child_by_field_name("declarator"),
            "reference_declarator" | "parenthesized_declarator" | "pointer_type" => node.named_child(0),
            "generic_type" | "reference_type" => node.child_by_field_name("type"),
            "scoped_type_identifier" => node.child_by_field_name("name"),
            _ => None,
        };
        // Go's generic type has its name in the same field.
        let Some(inner) = inner else { return node };
        node = inner;
    }
    node
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(language: Language, text: &str) -> Vec<(String, &str)> {
        let symbols = symbols(language, text.as_bytes(), &mut || true).unwrap();
        symbols.into_iter().map(|symbol| (symbol.name, &text[symbol.span])).collect()
    }

    fn names(language: Language, text: &str) -> Vec<String> {
        found(language, text).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn rust_is_read() {
        let text = "use a::b;\n/// Doc.\n#[inline]\npub fn one<T>(x: T) -> T { fn inner() {} let v = 1; x }\n\
            struct S { f: u8 }\nimpl<T> fmt::Display for S<T> { fn fmt(&self) {} const C: u8 = 1; }\n\
            mod m { pub enum E { A } pub trait T { fn t(&self); fn d() {} } }\n\
            const K: u8 = 2; static ST: u8 = 3; type A = u8; macro_rules! mac { () => {} }\nimpl S { fn new() {} }";
        let want = [
            "one", "one::inner", "S", "S::fmt", "S::C", "m::E", "m::T", "m::T::t", "m::T::d", "K", "ST", "A",
            "mac", "S::new",
        ];
        assert_eq!(names(Language::Rust, text), want);
        assert_eq!(found(Language::Rust, text)[4].1, "const C: u8 = 1;");
        assert!(found(Language::Rust, text)[0].1.starts_with("pub fn one"));
    }

    #[test]
    fn python_is_read() {
        let text = "LIMIT = 3\nlower = 1\n@cache\ndef f(a):\n    X = 1\n    return a\n\nclass C(B):\n    K = 1\n    \
            @property\n    def p(self): return 1\n    async def q(self): pass\n";
        assert_eq!(names(Language::Python, text), ["LIMIT", "f", "C", "C::K", "C::p", "C::q"]);
        assert!(found(Language::Python, text)[1].1.starts_with("@cache\ndef f"));
    }

    #[test]
    fn typescript_and_javascript_are_read() {
        let text = "export const f = async (a) => { const inner = 1; return a };\nexport default function g() {}\n\
            class C { static x = 1; m() {} get p() { return 1 } }\nlet undefinedYet;\nfunction* h() {}";
        for language in [Language::JavaScript, Language::TypeScript, Language::Tsx] {
            assert_eq!(names(language, text), ["f", "g", "C", "C::x", "C::m", "C::p", "h"], "{language:?}");
        }
        let text = "module.exports.f = function () {};\nexports.g = async (a) => a;\nC.prototype.m = function* () {};\n\
            exports.h = h;\nthis.x = function () {};\napp.use = 1;\nfunction k() { exports.inner = () => 1; }\n\
            exports.D = class { n() {} };";
        let want = ["f", "g", "C::m", "k", "D", "n"];
        assert_eq!(names(Language::JavaScript, text), want);
        assert_eq!(found(Language::JavaScript, text)[0].1, "module.exports.f = function () {}");
        let text = "interface I { a: string }\ntype T = I | null;\nenum E { A }\nnamespace N { export function k() {} }\n\
            abstract class D<T> extends C { private y: number = 1; z(): void {} }";
        assert_eq!(names(Language::TypeScript, text), ["I", "T", "E", "N::k", "D", "D::y", "D::z"]);
    }

    #[test]
    fn go_and_java_are_read() {
        let text = "package p\nconst K = 1\nvar V int = 2\ntype S[T any] struct{ a int }\ntype (\n\tI interface{}\n)\n\
            func F() { x := 1 }\nfunc (s *S[T]) M() {}\nfunc (S) N() {}\n";
        assert_eq!(names(Language::Go, text), ["K", "V", "S", "I", "F", "S::M", "S::N"]);
        let text = "package p; public class C<T> { static final int K = 1; int noValue; C() {} \
            <X> void m(int a) { int local = 1; } interface I { void i(); } enum E { A } } record R(int a) {}";
        let want = ["C", "C::K", "C::C", "C::m", "C::I", "C::I::i", "C::E", "R"];
        assert_eq!(names(Language::Java, text), want);
        assert_eq!(found(Language::Java, text)[1].1, "static final int K = 1;");
    }

    #[test]
    fn c_and_cpp_are_read() {
        let text = "#define N 3\n#define MAX(a) (a)\nstatic const int K = 1;\nstruct S { int a; };\nstruct S use;\n\
            typedef struct { int b; } T;\nint *f(int x) { int local = 1; return 0; }\nenum E { A };\nint proto(void);\n";
        assert_eq!(names(Language::C, text), ["N", "MAX", "K", "S", "T", "f", "E"]);
        assert_eq!(names(Language::Cpp, text), ["N", "MAX", "K", "S", "T", "f", "E"]);
        let text = "namespace a::b { template <class T> class C { void m() {} }; }\nvoid C::n() {}\nusing U = int;\n\
            int &r() {}\nstd::string s() {}\n";
        let want = ["a::b::C", "a::b::C::m", "C::n", "U", "r", "s"];
        assert_eq!(names(Language::Cpp, text), want);
        assert!(found(Language::Cpp, text)[0].1.starts_with("template <class T>"));
    }

    #[test]
    fn ruby_is_read() {
        let text = "module M\n  K = 1\n  class C < B\n    def m(a)\n      X = 1\n      a\n    end\n    def self.s; end\n  end\nend\n\
            def top?; end\n";
        assert_eq!(names(Language::Ruby, text), ["M", "M::K", "M::C", "M::C::m", "M::C::s", "top?"]);
    }

    #[test]
    fn large_binary_and_late_files_are_not_read() {
        let go_on = &mut || true;
        assert!(symbols(Language::Rust, &vec![b' '; FILE_BYTES_MAX], go_on).is_some());
        assert!(symbols(Language::Rust, &vec![b' '; FILE_BYTES_MAX + 1], go_on).is_none());
        assert!(symbols(Language::Rust, b"fn a() {}\0", go_on).is_none());
        let long = "fn f() { g(1, 2, 3); }\n".repeat(20_000);
        assert!(symbols(Language::Rust, long.as_bytes(), &mut || false).is_none());
    }

    #[test]
    fn deep_and_long_files_have_an_end() {
        let read_all = || {
            for language in Language::ALL {
                for open in [
                    "(", "{", "[", "<", "-", "*", "!", "- [ ] ", "a.", "a(", "fn a() {", "class A {",
                    "if a:\n ",
                ] {
                    let text = open.repeat(16 * 1024 / open.len());
                    assert!(
                        symbols(language, text.as_bytes(), &mut || true).is_some(),
                        "{language:?} {open}"
                    );
                }
            }
        };
        // The stack on which the daemon parses files of this length; that of a test's thread is a fifth of it.
        let thread = std::thread::Builder::new().stack_size(10 * 1024 * 1024);
        thread.spawn(read_all).unwrap().join().unwrap();
        let many: String = (0..SYMBOLS_MAX + 10).map(|n| format!("fn f{n}() {{}}\n")).collect();
        assert_eq!(names(Language::Rust, &many).len(), SYMBOLS_MAX);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..400), which in 0_usize..10) {
            let found = symbols(Language::ALL[which], &bytes, &mut || true).unwrap_or_default();
            for symbol in found {
                prop_assert!(symbol.span.end <= bytes.len() && symbol.span.start < symbol.span.end);
            }
        }
    }
}
