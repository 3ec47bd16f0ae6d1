/** Differences of two schemas, in the words of a review. */

const SHOWN_MAX = 8;

/** @typedef {{sign: "+" | "~" | "−", name: string, note?: string}} SchemaChange */

/** Types by kind and name. @type {(catalog: any) => Map<string, any>} */
const typesOf = (catalog) => new Map([...catalog.nodes, ...catalog.edges].map((type) => [`${type.kind} ${type.name}`, type]));

/** What a type declares beside its properties: numbers of entities are no part of a schema. @type {(type: any) => string} */
const rulesOf = ({ count, properties, description, instruction, ...rules }) => JSON.stringify(rules);

/** @type {(before: any, after: any) => SchemaChange[]} */
function changesOfType(before, after) {
  const [old, next] = [before, after].map((type) => new Map(type.properties.map((/** @type {any} */ item) => [item.name, item])));
  const names = [...new Set([...old.keys(), ...next.keys()])];
  const changes = names.flatMap((name) => {
    const [one, other] = [old.get(name), next.get(name)];
    const full = `${after.name}.${name}`;
    if (!one) return [/** @type {SchemaChange} */ ({ sign: "+", name: full, note: other.type })];
    if (!other) return [/** @type {SchemaChange} */ ({ sign: "−", name: full })];
    return one.type === other.type ? [] : [/** @type {SchemaChange} */ ({ sign: "~", name: full, note: `${one.type} → ${other.type}` })];
  });
  const isSame = rulesOf(before) === rulesOf(after);
  return isSame ? changes : [...changes, { sign: "~", name: after.name, note: "constraints, indexes or annotations" }];
}

/** The changes from one catalog to another. @type {(before: any, after: any) => SchemaChange[]} */
export function schemaChanges(before, after) {
  const [old, next] = [typesOf(before), typesOf(after)];
  return [...new Set([...old.keys(), ...next.keys()])].flatMap((key) => {
    const [one, other] = [old.get(key), next.get(key)];
    if (one && other) return changesOfType(one, other);
    return [/** @type {SchemaChange} */ ({ sign: one ? "−" : "+", name: key })];
  });
}

/** @type {(changes: SchemaChange[]) => string} */
export function schemaText(changes) {
  const shown = changes.slice(0, SHOWN_MAX).map(({ sign, name, note }) => `${sign} ${name}${note ? ` (${note})` : ""}`);
  return [...shown, ...(changes.length > SHOWN_MAX ? [`${changes.length - SHOWN_MAX} more`] : [])].join(", ");
}
