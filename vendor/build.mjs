// Bundles the libraries of the page into ES modules, with a manifest of versions, licences and checksums.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const here = import.meta.dirname;
const out = join(here, "../src/omnigraph/server/web/vendor");
const files = {};
const packages = new Map();

for (const name of ["core", "editor"]) {
  const result = await build({
    absWorkingDir: here,
    entryPoints: [`${name}.js`],
    bundle: true,
    format: "esm",
    minify: true,
    legalComments: "none",
    target: "es2022",
    metafile: true,
    outfile: join(out, `${name}.js`),
  });
  const content = readFileSync(join(out, `${name}.js`));
  files[`${name}.js`] = { bytes: content.length, sha256: createHash("sha256").update(content).digest("hex") };
  for (const input of Object.keys(result.metafile.inputs)) {
    const found = /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (found) packages.set(found[1], null);
  }
}

let licences = "";
const versions = {};
for (const name of [...packages.keys()].sort()) {
  const folder = join(here, "node_modules", name);
  const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  versions[name] = { version: about.version, licence: about.license };
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file && existsSync(join(folder, file)) ? readFileSync(join(folder, file), "utf8").trim() : about.license;
  licences += `${name} ${about.version} (${about.license})\n\n${text}\n\n${"-".repeat(72)}\n\n`;
}
writeFileSync(join(out, "LICENSES.txt"), licences.replace(/\r/g, ""));
writeFileSync(join(out, "manifest.json"), `${JSON.stringify({ files, packages: versions }, null, 2)}\n`);
