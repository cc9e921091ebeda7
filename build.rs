//! Has the program open RocksDB by `crates/engine/rocksdb/locks.cc`.

use std::{env, path::Path};

const SOURCE: &str = "crates/engine/rocksdb/locks.cc";

/// The function that is replaced, as compilers name it with each of the two standard libraries of C++:
/// `OptimisticTransactionDB::Open` with options of the database, folder, column families, handles and database.
const LIBSTDCXX: &str = concat!(
    "_ZN7rocksdb23OptimisticTransactionDB4OpenERKNS_9DBOptionsERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
    "RKSt6vectorINS_22ColumnFamilyDescriptorESaISD_EEPSC_IPNS_18ColumnFamilyHandleESaISJ_EEPPS0_",
);
const LIBCXX: &str = concat!(
    "_ZN7rocksdb23OptimisticTransactionDB4OpenERKNS_9DBOptionsERKNSt3__112basic_stringIcNS4_11char_traitsIcEENS4_9allocatorIcEEEE",
    "RKNS4_6vectorINS_22ColumnFamilyDescriptorENS8_ISE_EEEEPNSD_IPNS_18ColumnFamilyHandleENS8_ISK_EEEEPPS0_",
);

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    // The linker of macOS cannot put one function in place of another.
    if env::var_os("CARGO_CFG_TARGET_OS").is_none_or(|system| system != "linux") {
        return;
    }
    let rocksdb = env::var_os("DEP_ROCKSDB_CARGO_MANIFEST_DIR").expect("its build script names its folder");
    let objects = cc::Build::new()
        .cpp(true)
        .std("c++20")
        .include(Path::new(&rocksdb).join("rocksdb/include"))
        .define("LIBSTDCXX_NAME", format!("\"__wrap_{LIBSTDCXX}\"").as_str())
        .define("LIBCXX_NAME", format!("\"__wrap_{LIBCXX}\"").as_str())
        .file(SOURCE)
        .cargo_metadata(false)
        .compile_intermediates();
    for object in objects {
        println!("cargo::rustc-link-arg-bins={}", object.display());
    }
    for name in [LIBSTDCXX, LIBCXX] {
        println!("cargo::rustc-link-arg-bins=-Wl,--wrap,{name}");
    }
}
