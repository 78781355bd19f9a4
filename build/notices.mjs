/** The licences of the npm packages whose code or files are in the bundles. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const LEGAL = /^(?:licen[cs]e|copying|notice)(?:[.-].*)?$/i;
const RULE = "-".repeat(80);

/** For packages that name this licence and ship without its text. */
const MIT = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
associated documentation files (the "Software"), to deal in the Software without restriction,
including without limitation the rights to use, copy, modify, merge, publish, distribute,
sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial
portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES
OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;

/** Folders of the packages that have bytes in these outputs of esbuild. */
export function bundledPackages(outputs) {
  const folders = new Set();
  for (const { inputs } of Object.values(outputs))
    for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
      const [folder] = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? [];
      if (folder !== undefined && bytesInOutput > 0)
        folders.add(folder.slice(folder.indexOf("node_modules/")));
    }
  return [...folders];
}

/**
 * The text for the packages in these folders, each named once. Throws for one without a licence's
 * text.
 */
export function notices(folders) {
  return `This file names the packages of others in svc's built files, with their licences.\n${[
    ...new Set(folders),
  ]
    .toSorted((one, other) => (one < other ? -1 : 1))
    .map(notice)
    .join("")}`;
}

function notice(folder) {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const { name, version, license, author, repository } = manifest;
  const files = readdirSync(folder, { withFileTypes: true }).filter(
    (entry) => entry.isFile() && LEGAL.test(entry.name),
  );
  const texts = files.map((file) => readFileSync(join(folder, file.name), "utf8").trim());
  if (texts.length === 0 && license === "MIT") texts.push(MIT);
  if (texts.length === 0) throw new Error(`${folder} has no text of its licence.`);
  const by = typeof author === "string" ? author : author?.name;
  const source = typeof repository === "string" ? repository : repository?.url;
  const head = [`${name} ${version} (${license})`, by && `By ${by}`, source].filter(Boolean).join("\n");
  return `\n${RULE}\n${[head, ...texts].join("\n\n")}\n`;
}
