import { execFile } from "node:child_process";
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { createAwsCloud } from "#clouds/aws/cloud.ts";
import { AwsCloudConfig } from "#clouds/aws/config.ts";
import { Cluster } from "#config/cluster.ts";
import { readClustersFile } from "#config/read-clusters-file.ts";
import { nodeController } from "#core/node/controller.ts";
import { Report } from "#core/report.ts";
import { type Ec2Server, startEc2 } from "#emulators/ec2/server.ts";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";
import { type LambdaServer, startLambda } from "#emulators/lambda/server.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import { getBuiltCommandLine } from "#test/build/shared-build.ts";
import { listCommands, parseNamedFiles, parseShellBlocks } from "#test/docs/shell-blocks.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { ROOT } from "../../build/bundle.ts";
import { writeZip } from "../../build/zip.ts";
import packageJson from "../../package.json" with { type: "json" };

const run = promisify(execFile);

const GUIDE = "docs/how-to/deploy-to-aws.md";
const REGION = "eu-central-1";

const PAGES = ["README.md", ...(await pagesIn("docs/how-to")), ...(await pagesIn("docs/reference"))];

/** Includes subfolders. */
async function pagesIn(folder: string): Promise<string[]> {
  const names = await readdir(join(ROOT, folder), { recursive: true });
  return names.filter((name) => name.endsWith(".md")).map((name) => join(folder, name));
}

/** Returns the files with text for people or programs in a folder and its subfolders. */
async function textsIn(folder: string): Promise<string[]> {
  const names = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true });
  return names
    .filter((entry) => entry.isFile() && !/\.(png|svg|gz|zip)$/.test(entry.name))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
}

const read = (page: string): Promise<string> => readFile(join(ROOT, page), "utf8");

test.each(PAGES)(
  "%s has commands only in blocks that run or that give a reason for not running",
  async (page) => {
    const text = await read(page);
    const known = text.replaceAll(/```(sh|yaml)\n[\s\S]*?```/g, "");
    // No test runs a program's command outside the blocks.
    expect(known.match(/^( {4}|)(npx|aws|npm|kubectl|serverless-ccm|node \S+\.m?[tj]s) .*/gm) ?? []).toEqual(
      [],
    );
  },
);

/**
 * Matches a package of our name from a registry, because none is published. A file such as
 * ./serverless-ccm-0.1.0.tgz is the reader's own.
 */
const FETCHES_PACKAGE =
  /\b(npx|bunx|(npm|pnpm|yarn|bun) (i|install|add|x|exec|dlx|create|init))\b[^\n`]*?\s@?serverless-ccm(?![\w.-]*\.tgz)/;
/** Matches an image of our name without the reader's registry; with `--pull never` no image is fetched. */
const FETCHES_IMAGE =
  /\b(docker|podman|nerdctl) (pull|run(?!.*--pull[ =]never))\b[^\n`]*?\s([\w-]+\/)?serverless-ccm\b|\bhelm (install|upgrade|pull|repo add)\b[^\n`]*serverless-ccm/;
const fetchesOurName = (line: string): boolean => FETCHES_PACKAGE.test(line) || FETCHES_IMAGE.test(line);

test.each([
  ["npx serverless-ccm decide", true],
  ["npx --yes serverless-ccm@0.1.0 decide", true],
  ["npm install serverless-ccm", true],
  ["npm i --global serverless-ccm@latest", true],
  ["npm exec -- serverless-ccm run", true],
  ["npm install --global ./serverless-ccm-0.1.0.tgz", false],
  ["node dist/serverless-ccm.mjs decide", false],
  ["npx serverless deploy --stage prod", false],
  ["docker pull serverless-ccm:0.1.0", true],
  ["docker run --rm serverless-ccm/serverless-ccm relay", true],
  ["docker run --rm --pull never serverless-ccm:0.1.0 relay --help", false],
  ["docker pull registry.example.com/serverless-ccm:0.1.0", false],
  ["docker build --tag serverless-ccm:0.1.0 .", false],
  ["helm install ccm serverless-ccm/serverless-ccm", true],
])("%s fetches a name that a stranger could publish: %s", (command, expected) => {
  expect(fetchesOurName(command)).toBe(expected);
});

test("no page, manifest or message makes a reader fetch our unpublished name, which a stranger could publish", async () => {
  const published = [
    "docs",
    "infra",
    ...new Set(Object.values(packageJson.imports).map((path) => path.split("/")[1] ?? "")),
  ];
  const files = await Promise.all(
    published.filter((folder) => folder !== "test").map((folder) => textsIn(folder)),
  );
  const pages = [
    "README.md",
    "CONTRIBUTING.md",
    "AGENTS.md",
    "SECURITY.md",
    "serverless.yml",
    "package.json",
  ];
  const named: string[] = [];
  for (const file of [...pages, ...files.flat(), ...(await textsIn("build"))]) {
    const lines = (await read(file)).split("\n");
    lines.forEach((line, index) => {
      if (fetchesOurName(line)) named.push(`${file}:${index + 1}: ${line.trim()}`);
    });
  }
  expect(files.flat()).toEqual(expect.arrayContaining(["docs/tutorial/first-cluster.md", "src/cli/main.ts"]));
  expect(named).toEqual([]);
});

test("the example event is for the guide's example cluster", async () => {
  // The guide shortens the authority, which is not part of the hash.
  const { certificateAuthorityData: _, ...entry } = await guidesEntry();
  const { hash, name } = Cluster.parse(entry);
  expect(JSON.parse(await read("docs/examples/event.json")).event).toMatchObject({
    cluster: name,
    clusterHash: hash,
  });
});

/** The example of a layer's entry in the guide. */
async function guidesEntry(): Promise<Readonly<Record<string, unknown>>> {
  const [, text = ""] = /```yaml\n(clusters:[\s\S]*?)```/.exec(await read(GUIDE)) ?? [];
  return parse(text).clusters[0];
}

describeWithPart("aws-tools", "the commands of the guides", ({ aws }) => {
  let folder = "";
  let ec2: Ec2Server;
  let lambda: LambdaServer;
  let environment: NodeJS.ProcessEnv;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "commands-"));
    await cp(join(ROOT, "docs/examples"), join(folder, "docs/examples"), { recursive: true });
    await cp(join(ROOT, "infra"), join(folder, "infra"), { recursive: true });
    await cp(await getBuiltCommandLine(), join(folder, "dist"), { recursive: true });
    const bin = join(folder, "node_modules/.bin");
    await program(join(bin, "serverless-ccm"), process.execPath, [join(folder, "dist/serverless-ccm.mjs")]);
    await program(join(folder, "bin/aws"), aws.program, aws.args);
    await writeFile(join(folder, "package.json"), "{}");
    // The profile of another account in a guide.
    await mkdir(join(folder, ".aws"));
    await writeFile(join(folder, ".aws/config"), `[profile tenant-a]\nregion = ${REGION}\n`);
    await writeFile(
      join(folder, ".aws/credentials"),
      "[tenant-a]\naws_access_key_id = test\naws_secret_access_key = test\n",
    );
    await writeFile(join(folder, "tenant-a.kubeconfig"), await tenantsKubeconfig());
    ec2 = await startEc2({ region: REGION });
    lambda = await startNodeFunction(join(folder, "layer/clusters.yaml"), ec2.url);
    environment = {
      PATH: [join(folder, "bin"), dirname(process.execPath), process.env["PATH"]].join(":"),
      HOME: folder,
      ...credentials,
      AWS_REGION: REGION,
      AWS_DEFAULT_REGION: REGION,
      AWS_MAX_ATTEMPTS: "1",
      AWS_ENDPOINT_URL: "http://127.0.0.1:1",
      AWS_ENDPOINT_URL_LAMBDA: lambda.url,
    };
  });
  afterAll(async () => {
    await lambda?.close();
    await ec2?.close();
    await rm(folder, { recursive: true, force: true });
  });

  test("run as written, one page after the other, and the guide's event returns a report", async () => {
    for (const page of PAGES) {
      const text = await read(page);
      for (const [file, content] of parseNamedFiles(text)) await write(join(folder, file), content);
      for (const { line, commands, notRun } of parseShellBlocks(text)) {
        if (notRun !== undefined) continue;
        const ended = run("sh", ["-eu", "-c", commands], { cwd: folder, env: environment });
        await ended.catch((cause) => {
          throw new Error(`${page}:${line} failed: ${cause.stderr}`, { cause });
        });
      }
    }
    const report = Report.parse(JSON.parse(await readFile(join(folder, "report.json"), "utf8")));
    expect(report.objects).toMatchObject([{ name: expect.stringMatching(/^ip-10-0-1-17/) }]);
    expect(lambda.record()).toMatchObject([{ status: 200, functionError: false }]);

    const example = await guidesEntry();
    const { certificateAuthorityData: cut = "" } = example;
    const [written] = parse(await readFile(join(folder, "layer/clusters.yaml"), "utf8")).clusters;
    const { certificateAuthorityData: authority } = written;
    expect(Cluster.parse(written).certificateAuthorityData).toMatch(/^[\w+/=]{100,}$/);
    expect(authority.startsWith(String(cut).replace("…", ""))).toBe(true);
    expect({ ...written, certificateAuthorityData: cut }).toEqual(example);
  });

  test("AWS's command line accepts the commands that need an account", async () => {
    const blocks = (await Promise.all(PAGES.map(read))).flatMap(parseShellBlocks);
    const commands = blocks
      .filter(({ notRun }) => notRun !== undefined)
      .flatMap((block) => listCommands("aws", block));
    expect(commands.length).toBeGreaterThan(0);
    const nowhere = { ...environment, AWS_ENDPOINT_URL_LAMBDA: undefined };
    // The command must send a zip.
    for (const zip of ["clusters.zip", "dist/node.zip"])
      await writeZip(join(folder, zip), { "package.json": join(folder, "package.json") });
    for (const command of commands) {
      const said = await run("sh", ["-c", command], { cwd: folder, env: nowhere }).catch(
        ({ stderr }) => stderr,
      );
      expect(`${command}: ${said}`).toContain("Could not connect to the endpoint URL");
    }
    // Each starts Python, which takes seconds on busy cores.
  }, 240_000);
});

/** The kubeconfig of the cluster's administrator, which the reader has. */
async function tenantsKubeconfig(): Promise<string> {
  const { certificate } = await createCertificateAuthority();
  const authority = Buffer.from(certificate).toString("base64");
  const server = "https://tenant-a.example.com:6443";
  return stringify({
    ...{ apiVersion: "v1", kind: "Config", "current-context": "tenant-a" },
    contexts: [{ name: "tenant-a", context: { cluster: "tenant-a", user: "admin" } }],
    clusters: [{ name: "tenant-a", cluster: { server, "certificate-authority-data": authority } }],
    users: [{ name: "admin", user: { token: "an-administrators" } }],
  });
}

const credentials = { AWS_ACCESS_KEY_ID: "test", AWS_SECRET_ACCESS_KEY: "test" };

/**
 * Starts the deployed node function with its layer in a folder; a dry run does not need the cluster's API
 * server.
 */
async function startNodeFunction(clustersFile: string, ec2Url: string): Promise<LambdaServer> {
  Object.assign(process.env, credentials, {
    AWS_ENDPOINT_URL_EC2: ec2Url,
    AWS_EC2_METADATA_DISABLED: "true",
  });
  const cloud = createAwsCloud(
    AwsCloudConfig.parse({ provider: "aws", region: REGION, vpc: "vpc-0123456789abcdef0" }),
  );
  const api = async (): Promise<never> => {
    throw new Error("a dry run asked for the API server");
  };
  const node = createControllerFunction(nodeController, {
    clusters: (name) => readClustersFile(clustersFile)(name),
    cloud: async () => cloud,
    api,
    now: () => new Date(),
  });
  const functions = { "serverless-ccm-prod-node": node };
  return startLambda({ functions, timeoutMs: 30_000, concurrency: 10 });
}

async function program(file: string, command: string, args: readonly string[]): Promise<void> {
  await write(file, `#!/bin/sh\nexec "${[command, ...args].join('" "')}" "$@"\n`);
  await chmod(file, 0o755);
}

async function write(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}
