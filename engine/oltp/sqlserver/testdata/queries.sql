SELECT name, CONVERT(varchar(200), value_in_use) FROM sys.configurations WHERE name IN ('max server memory (MB)', 'min server memory (MB)',
  'max degree of parallelism', 'cost threshold for parallelism', 'max worker threads', 'lightweight pooling', 'priority boost', 'recovery interval (min)', 'optimize for ad hoc workloads') ORDER BY name;
SELECT 'product_version', CONVERT(varchar(200), SERVERPROPERTY('ProductVersion')) UNION ALL
  SELECT 'edition', CONVERT(varchar(200), SERVERPROPERTY('Edition')) UNION ALL
  SELECT 'product_level', CONVERT(varchar(200), SERVERPROPERTY('ProductLevel')) UNION ALL
  SELECT 'collation', CONVERT(varchar(200), DATABASEPROPERTYEX(DB_NAME(), 'Collation'));
SELECT recovery_model_desc, delayed_durability_desc, is_read_committed_snapshot_on, snapshot_isolation_state_desc, compatibility_level,
  page_verify_option_desc, target_recovery_time_in_seconds, is_encrypted FROM sys.databases WHERE name = DB_NAME();
SELECT SUM(CONVERT(bigint, d_next_o_id)) FROM district;
SELECT RTRIM(counter_name), SUM(cntr_value) FROM sys.dm_os_performance_counters
  WHERE counter_name = 'Batch Requests/sec' OR (counter_name = 'Number of Deadlocks/sec' AND instance_name = '_Total')
  OR (counter_name IN ('Log Bytes Flushed/sec', 'Log Flush Waits/sec') AND instance_name = DB_NAME()) GROUP BY counter_name;
BACKUP DATABASE [tpcc] TO DISK = N'tpcc.bak' WITH INIT, FORMAT, COPY_ONLY, CHECKSUM, NAME = N'identity';
RESTORE HEADERONLY FROM DISK = N'tpcc.bak';
RESTORE DATABASE [tpcc] FROM DISK = N'tpcc.bak' WITH REPLACE, CHECKSUM;
