SELECT 'version', banner FROM v$version WHERE ROWNUM = 1;
SELECT name, value FROM v$parameter WHERE name IN ('compatible', 'cpu_count', 'db_block_size', 'db_cache_size', 'filesystemio_options',
  'commit_logging', 'commit_wait', 'log_buffer', 'memory_target', 'optimizer_features_enable', 'parallel_max_servers', 'pga_aggregate_target',
  'processes', 'sga_max_size', 'sga_target', 'cursor_sharing', 'undo_retention') AND value IS NOT NULL ORDER BY name;
SELECT 'log_mode', log_mode FROM v$database UNION ALL SELECT 'flashback', flashback_on FROM v$database UNION ALL SELECT 'force_logging', force_logging FROM v$database;
SELECT SUM(d_next_o_id) FROM district;
SELECT name, TO_CHAR(value) FROM v$sysstat WHERE name IN ('user commits', 'user rollbacks', 'redo size', 'physical reads',
  'enqueue deadlocks', 'consistent gets');
SELECT type || ', line ' || line || ': ' || text FROM user_errors WHERE name = 'BAKEOFF_TPCC' AND attribute = 'ERROR' ORDER BY type, sequence;
