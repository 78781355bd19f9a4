/** Circles between folders next to each other: neither can be read or changed without the other. */

/**
 * Each circle as `folder: name, name`, from dependency-cruiser's modules. Folders of the top level
 * have rules of their own (build/layers.cjs).
 */
export function siblingCircles(modules) {
  const found = [];
  for (const [folder, imports] of importsBetweenSiblings(modules))
    for (const circle of circles(imports)) found.push(`${folder}: ${circle.toSorted(compare).join(", ")}`);
  return found.toSorted(compare);
}

/** For each folder, which of the folders in it imports from which others. */
function importsBetweenSiblings(modules) {
  const all = new Map();
  for (const { source, dependencies } of modules)
    for (const { resolved } of dependencies) {
      const [from, to] = [source.split("/"), resolved.split("/")];
      const depth = from.findIndex((name, place) => name !== to[place]);
      const areInFolders = depth < from.length - 1 && depth < to.length - 1;
      if (depth < 1 || !areInFolders) continue;
      const imports = getOr(all, from.slice(0, depth).join("/"), new Map());
      getOr(imports, from[depth], new Set()).add(to[depth]);
    }
  return all;
}

/** The largest groups of names each of which reaches all others. */
function circles(imports) {
  const reached = new Map([...imports.keys()].map((name) => [name, reach(imports, name)]));
  const groups = new Map();
  for (const [name, all] of reached) {
    if (!all.has(name)) continue;
    const circle = [...all].filter((other) => reached.get(other)?.has(name));
    groups.set(circle.toSorted(compare).join(), circle);
  }
  return [...groups.values()];
}

const compare = (one, other) => (one < other ? -1 : 1);

function reach(imports, begin) {
  const reached = new Set();
  const open = [begin];
  for (let name = open.pop(); name !== undefined; name = open.pop())
    for (const next of imports.get(name) ?? [])
      if (!reached.has(next)) {
        reached.add(next);
        open.push(next);
      }
  return reached;
}

function getOr(map, key, fresh) {
  if (!map.has(key)) map.set(key, fresh);
  return map.get(key);
}
