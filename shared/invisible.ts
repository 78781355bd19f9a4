/** Characters that change how text around them is shown, or that nobody can see (protocol.md, "Display names"). */
// oxlint-disable-next-line no-control-regex
export const INVISIBLE = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/u;
