/** The style of all pages: light and dark, from 360 px up. */
export const STYLE = `
:root { color-scheme: light dark; --ground: #fbfbfa; --raised: #ffffff; --ink: #1c1d20; --quiet: #55585f;
  --line: #d5d7dc; --accent: #1f5fbf; --on-accent: #ffffff; --danger: #b3261e; --notice: #fff4d6; }
@media (prefers-color-scheme: dark) { :root { --ground: #16171a; --raised: #1f2125; --ink: #e9eaec;
  --quiet: #a9adb6; --line: #3b3e45; --accent: #86b3f7; --on-accent: #10131a; --danger: #ff9a90; --notice: #3a3115; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif;
  overflow-wrap: anywhere; }
header, main { max-width: 46rem; margin: 0 auto; padding: 1rem; }
header { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; justify-content: space-between; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .5rem 0 1rem; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 0; }
a { color: var(--accent); }
p { margin: .5rem 0; }
.quiet { color: var(--quiet); }
.notice { background: var(--notice); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem; }
.cards { list-style: none; margin: 0; padding: 0; display: grid; gap: .75rem; }
.card { background: var(--raised); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem; }
.powers { border-left: 3px solid var(--line); padding-left: 1rem; margin: 1rem 0; }
.actions a { align-self: center; }
.code { font: 600 1.75rem/1.2 ui-monospace, monospace; letter-spacing: .1em; }
.codes { font: 1rem/1.8 ui-monospace, monospace; columns: 14rem; padding: 0; list-style: none; }
dl { display: grid; grid-template-columns: minmax(7rem, auto) 1fr; gap: .25rem 1rem; margin: .75rem 0; }
dt { color: var(--quiet); }
dd { margin: 0; }
label { display: block; font-weight: 600; margin: .75rem 0 .25rem; }
input { font: inherit; width: 100%; max-width: 24rem; padding: .5rem .75rem; color: inherit;
  background: var(--raised); border: 1px solid var(--quiet); border-radius: .375rem; }
button { font: inherit; overflow-wrap: normal; padding: .5rem 1rem; min-height: 2.75rem; border-radius: .375rem; cursor: pointer;
  color: var(--ink); background: var(--raised); border: 1px solid var(--quiet); }
a.button { display: inline-block; padding: .5rem 1rem; min-height: 2.75rem; border: 1px solid var(--quiet);
  border-radius: .375rem; color: var(--ink); background: var(--raised); text-decoration: none; }
a.button.main, button.main { color: var(--on-accent); background: var(--accent); border-color: var(--accent); font-weight: 600; }
button.danger { color: var(--danger); border-color: var(--danger); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
form.inline { display: inline-block; margin: .25rem .5rem .25rem 0; }
.actions { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1rem 0; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .25rem .75rem .25rem 0; vertical-align: top; }
th, time { overflow-wrap: normal; }
td:first-child { min-width: 5.75rem; }
td.address { min-width: 6rem; }
td { border-top: 1px solid var(--line); }
.card h2 { font-size: 1.05rem; margin: 0; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
summary { cursor: pointer; color: var(--accent); min-height: 1.5rem; }
[role=alert]:empty { display: none; }
`;

/** Two instances and the line between them. */
export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M4 12 12 4" stroke="#1f5fbf" stroke-width="2"/><circle cx="4" cy="12" r="3" fill="#1f5fbf"/><circle cx="12" cy="4" r="3" fill="#1f5fbf"/></svg>`;
