import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { getBuiltCommandLine, getBuiltFunctions } from "#test/build/shared-build.ts";
import { parseBaseImages } from "../../build/base-images.ts";
import { buildBillOfMaterials } from "../../build/bill-of-materials.ts";
import { type Bundle, ROOT } from "../../build/bundle.ts";
import { listFunctionNames } from "../../build/function-names.ts";
import packageJson from "../../package.json" with { type: "json" };
import { readZipEntries } from "./zip-entries.ts";

const SCHEMAS = "http://cyclonedx.org/schema";
const SCHEMA_NAMES = ["bom-1.6.SNAPSHOT", "spdx.SNAPSHOT", "jsf-0.82.SNAPSHOT"];

const Hash = z.object({ alg: z.string(), content: z.string() });
const Component = z.object({
  "bom-ref": z.string(),
  type: z.string(),
  name: z.string(),
  version: z.string().optional(),
  purl: z.string().optional(),
  hashes: z.array(Hash).optional(),
  properties: z.array(z.object({ name: z.string(), value: z.string() })).optional(),
});
const Bill = z.object({
  metadata: z.object({ component: Component.extend({ components: z.array(Component) }) }),
  components: z.array(Component),
  dependencies: z.array(z.object({ ref: z.string(), dependsOn: z.array(z.string()) })),
  compositions: z.array(z.object({ aggregate: z.string(), assemblies: z.array(z.string()) })).optional(),
});
type Bill = z.output<typeof Bill>;

/** The dependencies of each package in the lock file. */
const Locked = z.record(
  z.string(),
  z.object({
    version: z.string().optional(),
    integrity: z.string().optional(),
    dependencies: z.record(z.string(), z.string()).optional(),
    devDependencies: z.record(z.string(), z.string()).optional(),
    peerDependencies: z.record(z.string(), z.string()).optional(),
  }),
);
const locked = Locked.parse(JSON.parse(await readFile(join(ROOT, "package-lock.json"), "utf8")).packages);

/** Bundled imports that no package.json declares. */
const UNDECLARED: readonly (readonly [string, string, string])[] = [
  ["@aws-sdk/client-ec2", "@smithy/signature-v4", "through a package of which nothing is left in the bundle"],
  [
    "@aws-sdk/credential-provider-web-identity",
    "@aws-sdk/client-sts",
    "in the place of its own client, by build/build.ts",
  ],
  ["tsyringe", "reflect-metadata", "the polyfill that it wants, by build/polyfill-plugin.ts"],
  ["debug", "supports-color", "where it is installed"],
];

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const functions = await listFunctionNames();
const artefacts = [...functions, "serverless-ccm", "serverless-ccm-image"];

let validate: (document: unknown) => string[];

beforeAll(async () => {
  const read = async (name: string) =>
    JSON.parse(await readFile(join(ROOT, `test/build/cyclonedx/${name}.schema.json`), "utf8"));
  const [bom, spdx, jsf] = await Promise.all(SCHEMA_NAMES.map(read));
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  // No field in use has one of these formats.
  for (const name of ["iri-reference", "idn-email"]) ajv.addFormat(name, true);
  ajv.addSchema(spdx, `${SCHEMAS}/spdx.SNAPSHOT.schema.json`);
  ajv.addSchema(jsf, `${SCHEMAS}/jsf-0.82.SNAPSHOT.schema.json`);
  const compiled = ajv.compile(bom);
  validate = (document) => {
    compiled(document);
    return (compiled.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  };
});

describe("the bills of materials of the build", () => {
  let functionsFolder = "";
  let commandLineFolder = "";
  const folderOf = (name: string): string => (functions.includes(name) ? functionsFolder : commandLineFolder);
  const read = async (name: string): Promise<unknown> =>
    JSON.parse(await readFile(join(folderOf(name), `${name}.cdx.json`), "utf8"));
  const bill = async (name: string): Promise<Bill> => Bill.parse(await read(name));

  beforeAll(async () => {
    functionsFolder = await getBuiltFunctions();
    commandLineFolder = await getBuiltCommandLine();
  }, 240_000);

  test.each(artefacts)("%s: passes CycloneDX's schema", async (name) => {
    expect(validate(await read(name))).toEqual([]);
  });

  test.each(artefacts)("%s: every package has the hash that npm verifies", async (name) => {
    const packages = (await bill(name)).components.filter(({ type }) => type === "library");
    expect(packages.map(({ name }) => name)).toContain("zod");
    for (const { name, version, hashes } of packages) {
      const entries = Object.entries(locked).filter(([path]) => path.endsWith(`node_modules/${name}`));
      const integrities = entries
        .filter(([, each]) => each.version === version)
        .map(([, each]) => each.integrity);
      const [{ alg, content } = { alg: "", content: "" }] = hashes ?? [];
      expect([name, alg]).toEqual([name, "SHA-512"]);
      expect(integrities, name).toContain(`sha512-${Buffer.from(content, "hex").toString("base64")}`);
    }
  });

  test.each(artefacts)(
    "%s: names each component once, and connects every package to the root",
    async (name) => {
      const { metadata, components, dependencies } = await bill(name);
      const root = metadata.component["bom-ref"];
      const references = [root, ...components.map((each) => each["bom-ref"])];
      expect(new Set(references).size).toBe(references.length);
      expect(dependencies.map(({ ref }) => ref).toSorted()).toEqual(references.toSorted());
      const reached = new Set([root]);
      for (const reference of reached)
        for (const next of dependencies.find(({ ref }) => ref === reference)?.dependsOn ?? [])
          reached.add(next);
      expect([...reached].toSorted()).toEqual(references.toSorted());
    },
  );

  test.each(artefacts)(
    "%s: a package depends exactly on the packages that npm installs for it",
    async (name) => {
      const { metadata, components, dependencies } = await bill(name);
      const nameOf = (ref: string): string => components.find((each) => each["bom-ref"] === ref)?.name ?? "";
      const undeclared: string[] = [];
      for (const { ref, dependsOn } of dependencies) {
        const isRoot = ref === metadata.component["bom-ref"];
        const declared = Object.entries(locked)
          .filter(([path]) => (isRoot ? path === "" : path.endsWith(`node_modules/${nameOf(ref)}`)))
          .flatMap(([, each]) => [each.dependencies, each.devDependencies, each.peerDependencies])
          .flatMap((each) => Object.keys(each ?? {}));
        declared.push(...UNDECLARED.filter(([from]) => from === nameOf(ref)).map(([, to]) => to));
        for (const each of dependsOn)
          if (each.startsWith("pkg:npm/") && !declared.includes(nameOf(each)))
            undeclared.push(`${ref} ${each}`);
      }
      expect(undeclared).toEqual([]);
      expect(
        dependencies.some(({ ref, dependsOn }) => ref.startsWith("pkg:npm/") && dependsOn.length > 0),
      ).toBe(true);
    },
  );

  test.each(functions)("%s: has the hash of its zip, and of each file in it", async (name) => {
    const { component } = (await bill(name)).metadata;
    const zip = await readFile(join(functionsFolder, `${name}.zip`));
    expect(component.hashes).toEqual([{ alg: "SHA-256", content: sha256(zip) }]);
    expect(component.components.map((each) => each.name)).toEqual(
      readZipEntries(zip).map((entry) => entry.name),
    );
    for (const file of component.components) {
      const content = sha256(await readFile(join(functionsFolder, name, file.name)));
      expect(file.hashes, file.name).toEqual([{ alg: "SHA-256", content }]);
    }
  });

  test("serverless-ccm: has the hash of each file, and no package URL that a stranger could publish", async () => {
    const { component } = (await bill("serverless-ccm")).metadata;
    expect(component).toMatchObject({ type: "application", version: packageJson.version });
    expect(component.purl).toBeUndefined();
    expect(component.components.map((each) => each.name)).toContain("serverless-ccm.mjs");
    for (const file of component.components) {
      const content = sha256(await readFile(join(commandLineFolder, file.name)));
      expect(file.hashes, file.name).toEqual([{ alg: "SHA-256", content }]);
    }
  });

  test("serverless-ccm-image: names its base image, and states that its contents are not listed", async () => {
    const { metadata, components, compositions } = await bill("serverless-ccm-image");
    expect(metadata.component.type).toBe("container");
    const [base] = components.filter(({ type }) => type === "container");
    expect(base?.name).toBe("gcr.io/distroless/nodejs24-debian13");
    expect(compositions).toEqual([
      { aggregate: "incomplete", assemblies: [metadata.component["bom-ref"], base?.["bom-ref"]] },
    ]);
    const commandLine = (await bill("serverless-ccm")).components;
    expect(components.filter((each) => each !== base)).toEqual(commandLine);
  });
});

describe("a bill of materials", () => {
  const bundle = (input: string): Bundle => ({
    files: [],
    bytes: 1,
    metafile: {
      inputs: {},
      outputs: {
        "index.mjs": { bytes: 1, inputs: { [input]: { bytesInOutput: 1 } }, imports: [], exports: [] },
      },
    },
  });
  const digest = "a".repeat(64);
  let folder = "";

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "bill-"));
    await mkdir(join(folder, "node_modules/example"), { recursive: true });
    const example = { name: "example", version: "1.0.0", license: "MIT" };
    await writeFile(join(folder, "node_modules/example/package.json"), JSON.stringify(example));
  });
  afterAll(() => rm(folder, { recursive: true }));

  test("is rejected if a bundled package has no hash in the lock file", async () => {
    const input = relative(ROOT, join(folder, "node_modules/example/index.js"));
    await expect(buildBillOfMaterials({ name: "example", bundle: bundle(input), files: {} })).rejects.toThrow(
      "node_modules/example is bundled, but package-lock.json has no SHA-512 of it",
    );
  });

  test.each([
    [
      "recorded",
      `=sha256:${digest}`,
      { version: `sha256:${digest}`, hashes: [{ alg: "SHA-256", content: digest }] },
    ],
    ["not recorded", "", { version: "nonroot", properties: [{ name: "serverless-ccm:digest" }] }],
  ])("names the base image by a digest that is %s", async (_what, given, expected) => {
    const argument = `\${A}`;
    const [base] = parseBaseImages(
      `ARG A${given}\nFROM gcr.io/distroless/nodejs24-debian13:nonroot@${argument}`,
    );
    const text = await buildBillOfMaterials({
      name: "image",
      bundle: bundle("src/cli/main.ts"),
      files: {},
      ...(base && { base }),
    });
    const document = JSON.parse(text);
    expect(validate(document)).toEqual([]);
    const [component] = Bill.parse(document).components;
    expect(component).toMatchObject(expected);
    expect(component?.hashes === undefined).toBe(given === "");
  });

  const RUBBISH: readonly (readonly [string, (document: Record<string, unknown>) => void])[] = [
    ["a field that there is not", (document) => Object.assign(document, { packages: [] })],
    ["no format", (document) => delete document["bomFormat"]],
    [
      "a hash of the wrong length",
      (document) => set(document, { hashes: [{ alg: "SHA-256", content: "ab" }] }),
    ],
    ["a hash of no algorithm", (document) => set(document, { hashes: [{ alg: "SHA", content: digest }] })],
    ["a type that there is not", (document) => set(document, { type: "zip" })],
  ];

  test.each(RUBBISH)("with %s fails the schema", async (_what, change) => {
    const document = JSON.parse(
      await buildBillOfMaterials({ name: "one", bundle: bundle("src/cli/main.ts"), files: {} }),
    );
    expect(validate(document)).toEqual([]);
    change(document);
    expect(validate(document)).not.toEqual([]);
  });
});

function set(document: Record<string, unknown>, change: object): void {
  const { component } = z
    .object({ component: z.record(z.string(), z.unknown()) })
    .parse(document["metadata"]);
  document["metadata"] = { component: { ...component, ...change } };
}
