// Package report writes an analysis result for people and programs: one
// self-contained HTML page, GitHub flavoured Markdown, JSON, tidy CSV, Go
// benchmark text, JUnit XML and a short text for a terminal. It lays out, scales
// units and draws; it computes nothing that is a finding.
//
// Every renderer takes the same [analysis.Result], writes the same bytes for the
// same result, and treats every text in it as hostile.
package report
