// Opens RocksDB with 2^14 locks for the commits of optimistic transactions, in place of 2^20, which take 40 MB.
//
// A commit holds the locks of the keys that it writes; keys that share a lock wait for each other. RocksDB has a setting,
// but neither its C interface nor SurrealDB passes it on. So `build.rs` has the linker put this function in place of the
// one that the C interface calls.

#include "rocksdb/utilities/optimistic_transaction_db.h"

#ifdef _LIBCPP_VERSION
#define NAME LIBCXX_NAME
#else
#define NAME LIBSTDCXX_NAME
#endif

namespace cerebro {

rocksdb::Status open_with_fewer_locks(const rocksdb::DBOptions& options, const std::string& folder,
                                      const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
                                      std::vector<rocksdb::ColumnFamilyHandle*>* handles,
                                      rocksdb::OptimisticTransactionDB** database) __asm__(NAME);

rocksdb::Status open_with_fewer_locks(const rocksdb::DBOptions& options, const std::string& folder,
                                      const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
                                      std::vector<rocksdb::ColumnFamilyHandle*>* handles,
                                      rocksdb::OptimisticTransactionDB** database) {
  rocksdb::OptimisticTransactionDBOptions locks;
  locks.occ_lock_buckets = 1 << 14;
  return rocksdb::OptimisticTransactionDB::Open(options, locks, folder, families, handles, database);
}

}  // namespace cerebro
