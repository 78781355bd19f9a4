/** The members that aren't undefined, in their order. */
export function defined<Members extends object>(members: Members): Members {
  const kept: Partial<Members> = {};
  for (const name in members) if (members[name] !== undefined) kept[name] = members[name];
  return kept as Members;
}
