import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ManagedProcess, startProcess } from "#emulators/harness/managed-process.ts";
import { createHttpInvoker } from "#platforms/http/invoker.ts";
import { FUNCTION_TIMEOUT_MS } from "#platforms/invoker.ts";
import { type Claims, type LocalIssuer, startIssuer } from "#test/issuer/local-issuer.ts";
import { type GateAnswer, startInvocationGate } from "#test/platforms/contract/http-gate.ts";
import {
  type Caller,
  FUNCTION,
  type FunctionProcess,
  listNodes,
  type PlatformOptions,
  type PlatformUnderTest,
  type RunningPlatform,
} from "#test/platforms/contract/platform.ts";
import type { Build } from "#test/upgrade/builds.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

const NO_VERSION_BEFORE = "the version before has no functions over HTTP";

/** Functions over HTTP: `serverless-ccm functions`, behind a proxy that starts it on the first request. */
export const http: PlatformUnderTest = {
  name: "http",
  title:
    "Functions over HTTP: the process of `serverless-ccm functions`, which a proxy starts on the first request, with ID tokens of a local issuer",
  skipped: {
    "rolled over from N−1 to N, relay N−1": NO_VERSION_BEFORE,
    "rolled over from N−1 to N, relay N": NO_VERSION_BEFORE,
    "rolled back from N to N−1, relay N": NO_VERSION_BEFORE,
    "rolled back from N to N−1, relay N−1": NO_VERSION_BEFORE,
  },
  start,
};

const AUDIENCE = "functions";
const SUBJECT = "relay";
const SERVING_TIMEOUT_MS = 60_000;

/** The claims of each caller's token; undefined for one that the issuer did not sign. */
const CLAIMS: Readonly<Record<Caller, Claims | undefined>> = {
  permitted: { aud: AUDIENCE, sub: SUBJECT },
  unauthenticated: undefined,
  "for another audience": { aud: "another", sub: SUBJECT },
  unauthorized: { aud: AUDIENCE, sub: "another" },
};

/** A proxy's answer while there is no capacity. */
const UNAVAILABLE: GateAnswer = {
  status: 503,
  headers: { "content-type": "text/plain" },
  body: Buffer.from("no capacity"),
};

/** One process of the functions. */
interface FunctionServer extends FunctionProcess {
  readonly child: ManagedProcess;
  readonly url: Promise<string>;
}

async function start(options: PlatformOptions): Promise<RunningPlatform> {
  const { folder, clustersFile, concurrency } = options;
  const issuer = await startIssuer();
  await writeFile(join(folder, "issuer.pem"), issuer.certificateAuthority);
  const tokenFile = (caller: Caller): string => join(folder, `${caller.replaceAll(" ", "-")}.jwt`);
  for (const caller of Object.keys(CLAIMS) as Caller[])
    await writeFile(tokenFile(caller), createToken(issuer, caller), { mode: 0o600 });
  const flags = [
    ...["functions", "--port", "0", "--functions", FUNCTION, "--concurrency", String(concurrency)],
    ...["--oidc-issuer-url", issuer.url, "--oidc-ca-file", join(folder, "issuer.pem")],
    ...["--oidc-audience", AUDIENCE, "--oidc-subjects", SUBJECT],
  ];
  let build = options.build;
  let current: FunctionServer | undefined;
  let processes = 0;
  const servers: FunctionServer[] = [];

  const startServer = (version: Build): FunctionServer => {
    processes += 1;
    const child = startProcess(process.execPath, [version.program, ...flags], {
      environment: { PATH: process.env["PATH"], ...options.environment, CLUSTERS_FILE: clustersFile },
      logFile: join(folder, "functions.log"),
    });
    const server: FunctionServer = {
      child,
      url: readUrl(child),
      kill: () => {
        if (current === server) current = undefined;
        void child.stop("SIGKILL");
      },
    };
    // The requests that wait for it fail, if it is killed before.
    server.url.catch(() => undefined);
    servers.push(server);
    return server;
  };
  const findUrl = (): Promise<string> => {
    current ??= startServer(build);
    return current.url;
  };
  const gate = await startInvocationGate({
    target: findUrl,
    refusal: UNAVAILABLE,
  });
  return {
    ...gate,
    relay: (caller) => ({
      flags: [
        ...["relay", "--clusters-file", clustersFile, "--platform", "http"],
        ...["--function-url", `${gate.url}/{function}`, "--function-token-file", tokenFile(caller)],
      ],
      environment: {},
    }),
    invoke: async (event) => {
      const url = await findUrl();
      const invoker = createHttpInvoker({
        functionUrl: () => `${url}/${FUNCTION}`,
        functionTimeoutMs: FUNCTION_TIMEOUT_MS,
        maxInFlight: 10,
        access: {
          authorization: async () => `Bearer ${createToken(issuer, "permitted")}`,
          readTls: async () => ({}),
        },
      });
      return invoker.invoke(event, new AbortController().signal).finally(() => invoker.close());
    },
    findProcess: (node) =>
      gate.listForwarded().some(({ body }) => listNodes(JSON.parse(body.toString())).has(node))
        ? current
        : undefined,
    counts: () => ({ processes, invocations: gate.countInvocations() }),
    async scaleToZero() {
      const ending = current;
      current = undefined;
      await ending?.child.stop("SIGTERM");
    },
    async rollOver(next) {
      build = next;
      const successor = startServer(next);
      await successor.url;
      const ending = current;
      current = successor;
      await ending?.child.stop("SIGTERM");
    },
    close: async () => {
      await gate.close();
      await Promise.all(servers.map(({ child }) => child.stop("SIGKILL")));
      await issuer.close();
    },
  };
}

/** A caller without claims has a token that another one has signed. */
function createToken(issuer: LocalIssuer, caller: Caller): string {
  const claims = CLAIMS[caller];
  return issuer.sign(claims ?? { aud: AUDIENCE, sub: SUBJECT }, { forged: claims === undefined });
}

/** Resolves when the process serves, and rejects if it ends before. */
async function readUrl(child: ManagedProcess): Promise<string> {
  const find = (): string | undefined => /"event":"Serving","url":"([^"]+)"/.exec(child.output())?.[1];
  const isDecided = (): boolean => find() !== undefined || child.hasExited();
  await waitUntilTrue("the functions to serve", isDecided, SERVING_TIMEOUT_MS);
  const url = find();
  if (url === undefined) throw new Error(`the functions ended: ${child.output()}`);
  return url;
}
