import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import * as z from "zod";
import { WATCHES } from "#core/controllers.ts";
import { readServerlessYml } from "#test/build/serverless-yml.ts";
import type { Template } from "#test/infra/packaged-template.ts";
import { ROOT } from "../../build/bundle.ts";
import { listFunctionNames } from "../../build/function-names.ts";

const Configuration = z.looseObject({
  functions: z.record(
    z.string(),
    z.looseObject({
      handler: z.string(),
      role: z.string(),
      maximumRetryAttempts: z.number(),
      package: z.looseObject({ artifact: z.string() }),
    }),
  ),
});

const configured = async () =>
  Configuration.parse(parse(await readFile(join(ROOT, "serverless.yml"), "utf8"))).functions;

test("serverless.yml deploys exactly the files of functions/", async () => {
  expect(Object.keys(await configured()).sort()).toEqual(await listFunctionNames());
});

test("functions/README.md lists exactly the functions", async () => {
  const readme = await readFile(join(ROOT, "functions/README.md"), "utf8");
  const listed = [...readme.matchAll(/^\| \[`([a-z0-9-]+)\.ts`\]/gm)].map((match) => match[1]);
  expect(listed.sort()).toEqual(await listFunctionNames());
});

test("each function has its own artifact and role, the built handler, and no Lambda retries", async () => {
  const functions = Object.entries(await configured());
  const expected = functions.map(([name]) => ({
    handler: "index.handler",
    artifact: `dist/${name}.zip`,
    retries: 0,
  }));
  const actual = functions.map(
    ([
      ,
      {
        handler,
        package: { artifact },
        maximumRetryAttempts: retries,
      },
    ]) => ({
      handler,
      artifact,
      retries,
    }),
  );
  expect(actual).toEqual(expected);
  expect(new Set(functions.map(([, { role }]) => role)).size).toBe(functions.length);
});

test("the README names every function", async () => {
  const readme = await readFile(join(ROOT, "README.md"), "utf8");
  const table = /^## What it replaces\n[\s\S]*?\n\n(?!\|)/m.exec(readme)?.[0] ?? "";
  const named = [...table.matchAll(/`([a-z0-9-]+)`/g)].map((match) => match[1]);
  expect(named).toEqual(expect.arrayContaining(await listFunctionNames()));
});

test("relays may invoke every controller's function, and the sweep these and itself", async () => {
  const { resources } = await readServerlessYml();
  const [{ Resources: all }] = resources;
  const listInvoked = (statements: readonly Template[]): readonly string[] =>
    statements
      .filter(({ Action }) => Action === "lambda:InvokeFunction")
      .flatMap(({ Resource }) => Resource.map((each: Template) => each["Fn::Sub"]))
      // As `${self:functions.sweep.name}`, or as the plugin writes it, `${self:service}-${sls:stage}-node`.
      .map((arn) => /(?:self:functions\.|sls:stage\}-)([a-z-]+)(?:\.name\})?$/.exec(arn)?.[1] ?? arn);
  const invoked = new Set(WATCHES.map(({ functionName }) => functionName));
  expect(listInvoked(all.RelayPolicy.Properties.PolicyDocument.Statement).toSorted()).toEqual(
    [...invoked].toSorted(),
  );
  const sweeps = all.SweepFunctionRole.Properties.Policies.flatMap(
    ({ PolicyDocument }: Template) => PolicyDocument.Statement,
  );
  expect(listInvoked(sweeps).toSorted()).toEqual([...invoked, "sweep"].toSorted());
});
