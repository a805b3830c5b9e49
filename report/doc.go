// Package report writes an analysis result for people and programs. It lays out,
// scales units and draws; it computes nothing that is a finding.
//
//   - [HTML]: one self-contained page with its figures, for screens and paper
//   - [Markdown]: GitHub flavoured, figures replaced by their text and data
//   - [JSON]: the whole result, versioned, every digit
//   - [CSV]: every value of every trial, tidy
//   - [GoBench]: the trials that count, as benchstat reads them
//   - [JUnit]: the verdicts as test cases
//   - [Text]: a summary for a terminal
//
// Every renderer takes the same [analysis.Result] and leaves it as it is, writes
// the same bytes for the same result, and treats every text in it as hostile.
// Formats for people show base units scaled and values shortened; formats for
// programs hold base units and every digit.
package report
