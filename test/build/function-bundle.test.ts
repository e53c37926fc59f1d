import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import type { Metafile } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { PROVIDER_FILES } from "#test/build/provider-files.ts";
import { buildFunctions } from "../../build/build.ts";
import { ROOT } from "../../build/bundle.ts";
import { listFunctionNames } from "../../build/function-names.ts";
import type { Size } from "../../build/sizes.ts";

const run = promisify(execFile);

const MAX_MINIFIED_BYTES = 1_000_000;

/** Loaded only if the environment enables traces; OpenTelemetry's own SDK has 57 KB (0018). */
const MAX_TRACING_BYTES = 8_000;

/**
 * Every package that a function may contain. Further ones need a decision: 0003 has their cost in each cold
 * start.
 */
const ALLOWED_PACKAGES = [
  "@aws-sdk/client-ec2",
  "@aws-sdk/client-secrets-manager",
  "@aws-sdk/client-ssm",
  "@aws-sdk/client-sts",
  "@aws-sdk/core",
  "@aws-sdk/credential-provider-env",
  "@aws-sdk/credential-provider-http",
  "@aws-sdk/credential-provider-node",
  "@aws-sdk/credential-provider-web-identity",
  "@aws-sdk/nested-clients",
  "@aws-sdk/signature-v4-multi-region",
  "@aws-sdk/xml-builder",
  "@aws/lambda-invoke-store",
  "@middy/core",
  "@middy/util",
  "@smithy/core",
  "@smithy/credential-provider-imds",
  "@smithy/node-http-handler",
  "@smithy/signature-v4",
  "@smithy/types",
  "yaml",
  "zod",
];

/** Additional packages of only one function. */
const PACKAGES_OF_ONE: Readonly<Record<string, readonly string[]>> = {
  // These invoke the other functions.
  sweep: ["@aws-sdk/client-lambda"],
  audit: ["@aws-sdk/client-lambda"],
  // It invokes one other function.
  "ec2-events": ["@aws-sdk/client-lambda"],
  // It creates load balancers.
  service: ["@aws-sdk/client-elastic-load-balancing", "@aws-sdk/client-elastic-load-balancing-v2"],
  // @peculiar/x509 and its dependencies read certificate requests.
  csr: [
    "@peculiar/asn1-asym-key",
    "@peculiar/asn1-cms",
    "@peculiar/asn1-csr",
    "@peculiar/asn1-ecc",
    "@peculiar/asn1-pfx",
    "@peculiar/asn1-pkcs8",
    "@peculiar/asn1-pkcs9",
    "@peculiar/asn1-rsa",
    "@peculiar/asn1-schema",
    "@peculiar/asn1-x509",
    "@peculiar/asn1-x509-attr",
    "@peculiar/asn1-x509-post-quantum",
    "@peculiar/utils",
    "@peculiar/x509",
    "asn1js",
    "pvtsutils",
    "pvutils",
    "reflect-metadata",
    "tslib",
    "tsyringe",
  ],
};

const ALLOWED_FOLDERS = ["clouds", "config", "core", "functions", "kube", "platforms", "tracing"];

/** Additional folders of only one function. */
const FOLDERS_OF_ONE: Readonly<Record<string, readonly string[]>> = {
  sweep: ["delivery", "sweep"],
  audit: ["delivery", "sweep"],
  "ec2-events": ["delivery"],
};

/** Whether a function contains a controller; the others pass all work to such functions. */
const hasController = (name: string): boolean =>
  !["sweep", "ec2-events", "admission", "audit"].includes(name);

/** The additional controllers of a function. */
const CONTROLLERS_BESIDE: Readonly<Record<string, readonly string[]>> = {
  node: ["src/core/look-ahead/controller.ts"],
  service: [
    "src/core/digitalocean/firewall/controller.ts",
    "src/core/digitalocean/load-balancer-tags/controller.ts",
    "src/core/service/orphans/controller.ts",
  ],
};

/** Parts of clouds without an SDK; cloud-bundles.test.ts checks their sizes. */
const OF_OTHER_CLOUDS = /^src\/clouds\/(?!aws\/)[a-z-]+\//;

/** The parts of AWS for signing in to clusters, loaded on demand. */
const SIGN_IN =
  /^src\/platforms\/(keep-fresh|secrets\/[a-z-]+|aws\/(role-credentials|error-codes|secrets\/[a-z-]+|sign-in\/[a-z-]+))\.ts$/;

const names = await listFunctionNames();

describe("a function's bundle", () => {
  let folder = "";
  let sizes: readonly Size[] = [];
  const bundles = new Map<string, Metafile["outputs"]>();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "function-bundle-"));
    sizes = await buildFunctions(folder);
    for (const name of names) {
      const { outputs }: Metafile = JSON.parse(await readFile(join(folder, `${name}.meta.json`), "utf8"));
      bundles.set(name, outputs);
    }
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test.each(names)("%s: is at most a megabyte, without other clouds than AWS", (name) => {
    const all = sizes.find((size) => size.name === name)?.minified ?? Number.NaN;
    const ofOthers = bytesWith(bundles.get(name) ?? {}, (input) => OF_OTHER_CLOUDS.test(input));
    expect(all - ofOthers).toBeLessThanOrEqual(MAX_MINIFIED_BYTES);
  });

  test.each(names)("%s: contains no other package", (name) => {
    const packages = new Set(inputsOf(name).flatMap(packageOf));
    const allowed = [...ALLOWED_PACKAGES, ...(PACKAGES_OF_ONE[name] ?? [])];
    expect([...packages].filter((each) => !allowed.includes(each))).toEqual([]);
  });

  test.each(names)("%s: contains only the function parts of this project", (name) => {
    const own = inputsOf(name).filter(
      (input) => packageOf(input).length === 0 && !isNodes(input) && !input.startsWith("left-out:"),
    );
    const folders = new Set(own.map((input) => input.replace("src/", "").split("/")[0] ?? ""));
    const allowed = [...ALLOWED_FOLDERS, ...(FOLDERS_OF_ONE[name] ?? [])];
    expect([...folders].filter((each) => !allowed.includes(each))).toEqual([]);
    expect(own).toContain(`functions/${name}.ts`);
  });

  test.each(names)("%s: contains its controllers alone, or none if it makes no decisions", (name) => {
    const controllers = inputsOf(name).filter((input) => /^src\/core\/.+\/controller\.ts$/.test(input));
    const own = hasController(name) ? [`src/core/${name}/controller.ts`] : [];
    expect(controllers.sort()).toEqual([...own, ...(CONTROLLERS_BESIDE[name] ?? [])].sort());
  });

  test.each(names)("%s: loads the fleet brake's record only if it deletes nodes, and on demand", (name) => {
    const record = "src/platforms/aws/s3-object.ts";
    expect(inputsOf(name).includes(record)).toBe(name === "node-lifecycle");
    expect(inputsLoadedWith(bundles.get(name) ?? {}, `functions/${name}.ts`)).not.toContain(record);
  });

  test.each(names.filter(hasController))("%s: loads no cloud with its entry", (name) => {
    const loaded = inputsLoadedWith(bundles.get(name) ?? {}, `functions/${name}.ts`);
    expect(loaded).toContain("src/clouds/providers.ts");
    const ofClouds = loaded.filter((input) =>
      /@aws-sdk|@smithy|^src\/clouds\/|^src\/platforms\/aws\//.test(input),
    );
    expect(ofClouds.filter((input) => !PROVIDER_FILES.test(input))).toEqual([]);
  });

  test.each(["sweep", "audit"])(
    "%s: contains no cloud and no cloud client, neither at the start nor on demand",
    (name) => {
      const inputs = inputsOf(name);
      const ofClouds = inputs.filter(
        (input) => /^src\/(clouds|platforms\/aws)\//.test(input) && !PROVIDER_FILES.test(input),
      );
      expect(ofClouds.filter((input) => !SIGN_IN.test(input)).sort()).toEqual([
        // The locations of clusters, on demand.
        "src/platforms/aws/http.ts",
        "src/platforms/aws/no-profiles.ts",
        "src/platforms/aws/parameter-store.ts",
      ]);
      expect(inputs.flatMap(packageOf)).not.toContain("@aws-sdk/client-ec2");
      expect(inputs.flatMap(packageOf)).toContain("@aws-sdk/client-lambda");
    },
  );

  // The admission function reads the cluster's token, and signs in to no cluster.
  test.each(names.filter((name) => name !== "admission"))(
    "%s: loads each way of signing in on demand, separately",
    (name) => {
      const outputs = bundles.get(name) ?? {};
      const loaded = inputsLoadedWith(outputs, `functions/${name}.ts`);
      const isSignIn = (input: string): boolean => SIGN_IN.test(input) && !PROVIDER_FILES.test(input);
      expect(loaded.filter(isSignIn)).toEqual([]);
      expect(loaded).not.toContain("src/config/sign-in/read-identity.ts");
      const CLIENT = /@aws-sdk\/client-(secrets-manager|ssm|sts|ec2)/;
      expect(loaded.filter((input) => CLIENT.test(input))).toEqual([]);
      for (const [entry, client] of [
        ["src/platforms/aws/sign-in/eks-token.ts", "@aws-sdk/client-sts"],
        ["src/platforms/aws/sign-in/web-identity-token.ts", "@aws-sdk/client-sts"],
        ["src/platforms/aws/secrets/secrets-manager.ts", "@aws-sdk/client-secrets-manager"],
        ["src/platforms/aws/secrets/parameter-store.ts", "@aws-sdk/client-ssm"],
      ] as const) {
        const packages = inputsLoadedWith(outputs, entry).flatMap(packageOf);
        expect([...new Set(packages.filter((each) => each.startsWith("@aws-sdk/client-")))], entry).toEqual([
          client,
        ]);
      }
      expect(inputsOf(name).flatMap(packageOf)).not.toContain("@kubernetes/client-node");
    },
  );

  test.each(names.filter(hasController))(
    "%s: loads the recording and sending of traces on demand",
    (name) => {
      const outputs = bundles.get(name) ?? {};
      const loaded = inputsLoadedWith(outputs, `functions/${name}.ts`);
      const isOnDemand = (input: string): boolean => /^src\/tracing\/(tracer|settings)\.ts$/.test(input);
      expect(loaded.filter(isOnDemand)).toEqual([]);
      expect(inputsOf(name).filter(isOnDemand)).toHaveLength(2);
      const bytes = bytesOf(outputs, isOnDemand);
      expect(bytes).toBeLessThanOrEqual(MAX_TRACING_BYTES);
    },
  );

  test("ec2-events: loads its EC2 client on demand, and no other cloud", () => {
    const isOfClouds = (input: string): boolean =>
      /^src\/(clouds|platforms\/aws)\//.test(input) && !PROVIDER_FILES.test(input);
    const loaded = inputsLoadedWith(bundles.get("ec2-events") ?? {}, "functions/ec2-events.ts");
    expect(loaded.filter(isOfClouds)).toEqual([]);
    expect(loaded.flatMap(packageOf)).not.toContain("@aws-sdk/client-ec2");
    const inputs = inputsOf("ec2-events");
    expect(inputs).toContain("src/clouds/aws/locate-instance.ts");
    const isOfCloud = (input: string): boolean =>
      /^src\/clouds\/((?!aws\/|secrets\/)[a-z-]+\/|aws\/cloud)/.test(input) && !PROVIDER_FILES.test(input);
    expect(inputs.filter(isOfCloud)).toEqual([]);
  });

  test("service: is the only function with clients for load balancers and EC2 changes, loaded on demand", async () => {
    const isClient = (name: string): boolean => name.startsWith("@aws-sdk/client-elastic-load-balancing");
    const loaded = inputsLoadedWith(bundles.get("service") ?? {}, "functions/service.ts");
    expect(loaded.flatMap(packageOf).filter(isClient)).toEqual([]);
    expect(new Set(inputsOf("service").flatMap(packageOf).filter(isClient)).size).toBe(2);
    for (const name of names.filter((other) => other !== "service")) {
      expect(inputsOf(name).flatMap(packageOf).filter(isClient), name).toEqual([]);
      expect(inputsOf(name), name).not.toContain("src/clouds/aws/load-balancers/commands.ts");
    }
  });

  test.each(names)(
    "%s: loads the reading of parameters on demand, and no code that writes them",
    async (name) => {
      const loaded = inputsLoadedWith(bundles.get(name) ?? {}, `functions/${name}.ts`);
      expect(loaded.flatMap(packageOf)).not.toContain("@aws-sdk/client-ssm");
      expect(inputsOf(name).flatMap(packageOf)).toContain("@aws-sdk/client-ssm");
      expect(await textOf(name)).not.toContain("PutParameter");
    },
  );

  const atStart = [
    ["has a cluster on AWS", { provider: "aws", region: "eu-central-1", vpc: "vpc-1" }, true],
    ["has none on AWS", { provider: "memory", instancesFile: "/nowhere" }, false],
    ["is not there", undefined, false],
  ] as const;

  test.each(atStart)(
    "node: a clusters file that %s decides which clouds are loaded",
    async (_, cloud, isLoaded) => {
      const file = join(folder, "clusters.yaml");
      await rm(file, { force: true });
      const entry = { name: "blue", server: "https://127.0.0.1", cloud };
      if (cloud !== undefined) await writeClustersFile(file, entry);
      const aws = Object.entries(bundles.get("node") ?? {}).find(
        ([, { entryPoint }]) => entryPoint === "src/clouds/aws/cloud.ts",
      );
      const loaded = await filesLoadedBy(join(folder, "node/index.mjs"), file);
      expect(loaded).toContain("index.mjs");
      expect(loaded.includes(basename(aws?.[0] ?? ""))).toBe(isLoaded);
    },
  );

  test("node: contains only the shapes of its operations", async () => {
    const text = await textOf("node");
    for (const used of ["DescribeInstancesResult", "DescribeInstanceTopologyResult"])
      expect(text).toContain(used);
    for (const other of ["RunInstancesRequest", "DescribeVolumesResult", "CreateTagsRequest"])
      expect(text).not.toContain(other);
  });

  test("node: loads node:http on demand, and so avoids undici", () => {
    const imports = Object.values(bundles.get("node") ?? {}).flatMap((output) => output.imports);
    const builtins = imports.filter(({ external }) => external).map(({ path }) => path);
    expect(builtins).toContain("node:http2");
    expect(builtins.filter((path) => /^(node:)?http$/.test(path))).toEqual([]);
    expect(inputsOf("node")).toContain("builtin:node:http");
  });

  function inputsOf(name: string): string[] {
    return Object.values(bundles.get(name) ?? {}).flatMap(inputsIn);
  }

  async function textOf(name: string): Promise<string> {
    const files = Object.keys(bundles.get(name) ?? {}).filter((file) => !file.endsWith(".map"));
    const texts = await Promise.all(files.map((file) => readFile(resolve(ROOT, file), "utf8")));
    return texts.join("\n");
  }
});

/** Returns the files that Node loads for a bundle when a function platform initializes it. */
async function filesLoadedBy(bundle: string, clustersFile: string): Promise<string[]> {
  const program = `
    import { registerHooks } from "node:module";
    const loaded = [];
    registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context); } });
    await import(${JSON.stringify(pathToFileURL(bundle).href)});
    console.log(JSON.stringify(loaded));`;
  const env = { CLUSTERS_FILE: clustersFile };
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", program], { env });
  return (JSON.parse(stdout) as string[]).map((url) => basename(url));
}

type Output = Metafile["outputs"][string];

function inputsIn(output: Output): string[] {
  return Object.entries(output.inputs).flatMap(([input, { bytesInOutput }]) =>
    bytesInOutput > 0 ? [input] : [],
  );
}

function packageOf(input: string): string[] {
  const [, name] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input) ?? [];
  return name === undefined ? [] : [name];
}

function isNodes(input: string): boolean {
  return input.startsWith("builtin:");
}

/** Returns the inputs in the entry's file and in all its static imports. */
function inputsLoadedWith(outputs: Metafile["outputs"], entry: string): string[] {
  const loaded = new Set(Object.keys(outputs).filter((path) => outputs[path]?.entryPoint === entry));
  // The iteration includes values that are added to the set meanwhile.
  for (const path of loaded) {
    for (const { path: next, kind } of outputs[path]?.imports ?? []) {
      if (kind === "import-statement" && outputs[next] !== undefined) loaded.add(next);
    }
  }
  return [...loaded].flatMap((path) => inputsIn(outputs[path] as Output));
}

/** Returns the minified size of these inputs, and of all files that contain only them. */
function bytesWith(outputs: Metafile["outputs"], isMeant: (input: string) => boolean): number {
  const sizes = Object.entries(outputs).map(([file, output]) => {
    const inputs = Object.keys(output.inputs);
    return inputs.length > 0 && inputs.every(isMeant) ? output.bytes : bytesOf({ [file]: output }, isMeant);
  });
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}

/** Returns the minified size of these inputs. */
function bytesOf(outputs: Metafile["outputs"], isMeant: (input: string) => boolean): number {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  return inputs.reduce((sum, [path, { bytesInOutput }]) => sum + (isMeant(path) ? bytesInOutput : 0), 0);
}
