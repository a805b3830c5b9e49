package record

// tempPrefix begins the names of files that are being written. They are never
// part of a record, and are removed when a run is resumed.
const tempPrefix = ".tmp-"
