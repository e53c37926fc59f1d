import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as z from "zod";
import { findManifest, getDeployment, MANAGEMENT, readManifests } from "#test/infra/management-manifests.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { ROOT } from "../../build/bundle.ts";
import packageJson from "../../package.json" with { type: "json" };

const DOCKERFILE = join(ROOT, "infra/container/Dockerfile");
const dockerfile = await readFile(DOCKERFILE, "utf8");

/** The instructions of the final image: from the last FROM on, one per line, without comments. */
const [, ...lines] = dockerfile
  .replaceAll(/\\\n\s*/g, "")
  .split(/^FROM /m)
  .at(-1)
  ?.split("\n")
  .filter((line) => line !== "" && !line.startsWith("#")) ?? [""];
const instruction = (name: string): string[] =>
  lines.flatMap((line) => (line.startsWith(`${name} `) ? [line.slice(name.length + 1)] : []));

describeWithPart("hadolint", "the Dockerfile", ({ program, args }) => {
  /** Returns the codes of hadolint's findings. */
  async function lint(file: string): Promise<string[]> {
    const said = await new Promise<string>((resolve) => {
      execFile(
        program,
        [...args, "--no-color", "--failure-threshold", "none", file],
        (_error, stdout, stderr) => resolve(stdout + stderr),
      );
    });
    return said.split("\n").filter((line) => line !== "");
  }

  test("has no hadolint findings", async () => {
    expect(await lint(DOCKERFILE)).toEqual([]);
  });

  test.each([
    ["a base without a version", /node:24-trixie-slim@\S+/, "node:latest", "DL3007"],
    ["a shell that does not quote", /mkdir \/package/, "mkdir $PACKAGE", "SC2086"],
    ["an instruction that there is not", /^EXPOSE/m, "EXPOSES", "missing whitespace"],
  ])("with %s has hadolint findings", async (_what, before, after, code) => {
    const folder = await mkdtemp(join(tmpdir(), "dockerfile-"));
    try {
      expect(dockerfile).toMatch(before);
      await writeFile(join(folder, "Dockerfile"), dockerfile.replace(before, after));
      expect((await lint(join(folder, "Dockerfile"))).join("\n")).toContain(code);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

test("the image contains only the packed files, and its build runs no command", () => {
  expect(instruction("COPY")).toEqual(["--from=build /package /opt/serverless-ccm"]);
  expect([...instruction("RUN"), ...instruction("ADD")]).toEqual([]);
});

test("the image runs as the user of the Deployment, by number", async () => {
  const { securityContext } = getDeployment(await readManifests(MANAGEMENT)).template.spec;
  expect(instruction("USER")).toEqual([`${securityContext["runAsUser"]}:${securityContext["runAsGroup"]}`]);
  expect(securityContext["runAsUser"]).toBeGreaterThan(0);
});

test("the image starts the packed program", () => {
  const [, program = ""] = z.array(z.string()).parse(JSON.parse(instruction("ENTRYPOINT")[0] ?? ""));
  const packed = program.replace("/opt/serverless-ccm/", "");
  expect(packageJson.bin).toEqual({ "serverless-ccm": packed });
  expect(packageJson.files).toContain(packed);
});

test("the Deployment names the image of this version", async () => {
  const deployment = JSON.stringify(findManifest("Deployment", await readManifests(MANAGEMENT)));
  const image = `${packageJson.name}:${packageJson.version}`;
  expect(deployment).toContain(`"image":"${image}"`);
  expect(dockerfile).toContain(`--tag ${image} `);
});

test("the build context contains the sources and scripts of the build", async () => {
  const ignored = (await readFile(`${DOCKERFILE}.dockerignore`, "utf8"))
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  const needed = ["package.json", "package-lock.json", "tsconfig.json", "LICENSE", "README.md"];
  for (const name of [
    ...needed,
    ...Object.values(packageJson.imports).map((path) => path.split("/")[1] ?? ""),
  ]) {
    expect([name, existsSync(join(ROOT, name))]).toEqual([name, true]);
    // Of the sources only tests need tests.
    if (name !== "test") expect(ignored).not.toContain(name);
  }
});
