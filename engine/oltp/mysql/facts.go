package mysql

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"bakeoff/engine/oltp"
)

// factNames are the server's variables that matter to a result, with the unit of
// those that are numbers.
func factNames() map[string]string {
	return map[string]string{
		"version": "", "version_comment": "", "version_compile_machine": "",
		"innodb_buffer_pool_size": "B", "innodb_buffer_pool_instances": "1", "innodb_page_size": "B",
		"innodb_log_file_size": "B", "innodb_log_files_in_group": "1", "innodb_redo_log_capacity": "B", "innodb_log_buffer_size": "B",
		"innodb_flush_log_at_trx_commit": "", "innodb_flush_method": "", "innodb_doublewrite": "", "innodb_checksum_algorithm": "",
		"innodb_io_capacity": "1", "innodb_io_capacity_max": "1", "innodb_read_io_threads": "1", "innodb_write_io_threads": "1",
		"innodb_purge_threads": "1", "innodb_use_native_aio": "", "innodb_adaptive_hash_index": "", "innodb_change_buffering": "",
		"innodb_thread_concurrency": "1", "innodb_file_per_table": "", "innodb_lock_wait_timeout": "s", "innodb_deadlock_detect": "",
		"innodb_snapshot_isolation": "", "innodb_autoinc_lock_mode": "", "innodb_stats_persistent": "", "innodb_numa_interleave": "",
		"sync_binlog": "", "log_bin": "", "binlog_format": "", "binlog_row_image": "", "gtid_mode": "", "performance_schema": "",
		"tx_isolation": "", "transaction_isolation": "", "autocommit": "", "sql_mode": "", "default_storage_engine": "",
		"max_connections": "1", "thread_handling": "", "thread_pool_size": "1", "thread_cache_size": "1",
		"table_open_cache": "1", "query_cache_type": "", "query_cache_size": "B", "large_pages": "", "wsrep_on": "",
		"character_set_server": "", "have_ssl": "", "require_secure_transport": "", "slow_query_log": "", "general_log": "",
	}
}

// Facts reads the server's version and settings. What a version does not know is
// left out.
func (d *database) Facts(ctx context.Context) ([]oltp.Fact, error) {
	rows, err := rowsOf(ctx, d.server, "SHOW GLOBAL VARIABLES")
	if err != nil {
		return nil, err
	}
	names := factNames()
	var facts []oltp.Fact
	for _, r := range rows {
		unit, ok := names[strings.ToLower(r[0])]
		if !ok {
			continue
		}
		f := oltp.Fact{Name: strings.ToLower(r[0]), Text: r[1], Unit: unit}
		if unit != "" {
			if f.Value, err = number(r[1]); err != nil {
				return nil, fmt.Errorf("variable %s: %w", f.Name, err)
			}
		}
		facts = append(facts, f)
	}
	return facts, nil
}

func number(text string) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("found %q, expected a number", text)
	}
	return n, nil
}
