import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { type FunctionsFlags, readFunctionsSettings } from "#cli/functions/functions-settings.ts";
import { SERVABLE_FUNCTIONS } from "#cli/functions/served-functions.ts";
import { checkFunctionAccess, createFunctionAccess } from "#cli/relay/function-access.ts";
import type { FunctionFlags } from "#cli/relay/function-names.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";
import { PUBLIC_KEY } from "#test/functions/admission/review-builders.ts";
import { listFunctionNames } from "../../build/function-names.ts";

let folder = "";
const inFolder = (name: string): string => join(folder, name);
const ENVIRONMENT = { CLUSTERS_FILE: "clusters.yaml" };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "functions-settings-"));
  const authority = await createCertificateAuthority();
  const server = await authority.issueServer();
  const files = {
    "ca.pem": authority.certificate,
    "server.pem": server.certificate,
    "server.key": server.key,
    token: "one\n",
    "two-tokens": "one\ntwo\n",
    "three-tokens": "one\ntwo\nthree\n",
    words: "two words\n",
    empty: "\n",
  };
  for (const [name, text] of Object.entries(files)) await writeFile(inFolder(name), text);
});
afterAll(() => rm(folder, { recursive: true }));

/** Reads flags whose values that begin with `/` are files of the folder. */
function read(flags: Partial<FunctionsFlags>, environment: Record<string, string> = ENVIRONMENT) {
  const inPlace = Object.fromEntries(
    Object.entries(flags).map(([key, value]) => [
      key,
      typeof value === "string" && value.startsWith("/") ? inFolder(value.slice(1)) : value,
    ]),
  );
  return readFunctionsSettings({ bindAddress: "127.0.0.1", concurrency: "100", ...inPlace }, environment);
}

const TLS = { tlsCertFile: "/server.pem", tlsPrivateKeyFile: "/server.key" };
const OIDC = { oidcIssuerUrl: "https://issuer.example.com", oidcAudience: "a", oidcSubjects: "s, t" };
const ELSEWHERE = { bindAddress: "0.0.0.0" };

describe("the settings of functions", () => {
  test("are all functions for this machine by default, at the port of the environment", async () => {
    expect(await read({})).toEqual({
      bindAddress: "127.0.0.1",
      port: 8080,
      functions: SERVABLE_FUNCTIONS.filter((name) => name !== "admission" && name !== "audit"),
      concurrency: 100,
      authentication: undefined,
      readTls: undefined,
      invoked: undefined,
    });
    expect((await read({}, { ...ENVIRONMENT, PORT: "9000" })).port).toBe(9_000);
    expect((await read({ port: "0" }, { ...ENVIRONMENT, PORT: "9000" })).port).toBe(0);
  });

  test("know every deployed function", async () => {
    expect(SERVABLE_FUNCTIONS.toSorted()).toEqual((await listFunctionNames()).toSorted());
  });

  test.each([
    ["admission", "ADMISSION_PUBLIC_KEYS"],
    ["audit", "AUDIT_PUBLIC_KEYS"],
  ])("have the webhook %s if the environment has its keys", async (name, variable) => {
    const { functions } = await read({}, { ...ENVIRONMENT, [variable]: PUBLIC_KEY });
    const webhooks = functions.filter((each) => each === "admission" || each === "audit");
    expect(webhooks).toEqual([name]);
    await expect(read({ functions: name })).rejects.toThrow(`$${variable}: is not set`);
  });

  test.each<[string, Partial<FunctionsFlags>]>([
    ["a token over TLS", { ...TLS, tokenFile: "/token" }],
    ["two tokens over TLS", { ...TLS, tokenFile: "/two-tokens" }],
    ["ID tokens over TLS", { ...TLS, ...OIDC }],
    ["client certificates", { ...TLS, clientCaFile: "/ca.pem", clientSubjects: "relay" }],
    ["a token behind a proxy", { behindTlsProxy: true, tokenFile: "/token" }],
    ["ID tokens behind a proxy", { behindTlsProxy: true, ...OIDC, oidcCaFile: "/ca.pem" }],
  ])("let other machines call with %s", async (_, flags) => {
    const { authentication } = await read({ ...ELSEWHERE, ...flags });
    expect(authentication).toBeDefined();
  });

  test("read tokens, certificates and subjects", async () => {
    const { authentication, readTls, functions } = await read({
      ...{
        ...TLS,
        ...OIDC,
        tokenFile: "/two-tokens",
        clientCaFile: "/ca.pem",
        clientSubjects: "relay, DNS:x",
      },
      functions: "node, service,node",
    });
    expect(functions).toEqual(["node", "service"]);
    expect(await authentication?.readTokens?.()).toEqual(["one", "two"]);
    expect(authentication?.clientSubjects).toEqual(["relay", "DNS:x"]);
    expect(authentication?.oidc).toMatchObject({ audience: "a", subjects: ["s", "t"] });
    expect(Object.keys((await readTls?.()) ?? {})).toEqual(["cert", "key", "ca"]);
  });

  test.each<[string, Partial<FunctionsFlags>, readonly (readonly [string, RegExp])[]]>([
    [
      "another address without authentication",
      ELSEWHERE,
      [
        ["--bind-address", /--token-file/],
        ["--bind-address", /--tls-cert-file/],
      ],
    ],
    [
      "a token in plain text",
      { ...ELSEWHERE, tokenFile: "/token" },
      [["--bind-address", /--behind-tls-proxy/]],
    ],
    ["everyone behind a proxy", { ...ELSEWHERE, behindTlsProxy: true }, [["--bind-address", /--token-file/]]],
    [
      "everyone behind a proxy on this machine",
      { behindTlsProxy: true },
      [["--bind-address", /through the proxy/]],
    ],
    [
      "client certificates behind a proxy",
      { ...ELSEWHERE, behindTlsProxy: true, clientCaFile: "/ca.pem", clientSubjects: "relay" },
      [
        ["--client-ca-file", /needs --tls-cert-file/],
        ["--behind-tls-proxy", /hides client certificates/],
      ],
    ],
    [
      "a proxy and TLS",
      { ...TLS, behindTlsProxy: true, tokenFile: "/token" },
      [["--behind-tls-proxy", /is for plain HTTP/]],
    ],
    ["a missing token file", { tokenFile: "/none" }, [["--token-file", /none cannot be read \(ENOENT\)/]]],
    ["an empty token file", { tokenFile: "/empty" }, [["--token-file", /is empty/]]],
    ["three tokens", { tokenFile: "/three-tokens" }, [["--token-file", /3 lines; give at most 2/]]],
    ["a token of two words", { tokenFile: "/words" }, [["--token-file", /holds no bearer token/]]],
    [
      "an issuer over plain http",
      { ...OIDC, oidcIssuerUrl: "http://issuer.example.com" },
      [["--oidc-issuer-url", /not an https URL/]],
    ],
    [
      "an issuer for any audience and subject",
      { oidcIssuerUrl: "https://issuer.example.com" },
      [
        ["--oidc-audience", /is missing/],
        ["--oidc-subjects", /is missing/],
      ],
    ],
    ["an audience without an issuer", { oidcAudience: "a" }, [["--oidc-audience", /--oidc-issuer-url/]]],
    [
      "an invalid authority of the issuer",
      { ...OIDC, oidcCaFile: "/token" },
      [["--oidc-ca-file", /not a certificate/]],
    ],
    [
      "certificates of any subject",
      { ...TLS, clientCaFile: "/ca.pem" },
      [["--client-subjects", /is missing/]],
    ],
    [
      "subjects without an authority",
      { clientSubjects: "relay" },
      [["--client-subjects", /--client-ca-file/]],
    ],
    ["a certificate without a key", { tlsCertFile: "/server.pem" }, [["--tls-cert-file", /both or neither/]]],
    [
      "a key of another certificate",
      { tlsCertFile: "/ca.pem", tlsPrivateKeyFile: "/server.key" },
      [["--tls-cert-file", /not a certificate and its key/]],
    ],
    [
      "an unknown function",
      { functions: "node,nodes" },
      [["--functions", /"nodes" is not a function; give some of node, /]],
    ],
    ["no function", { functions: "," }, [["--functions", /give some of/]]],
    ["no concurrency", { concurrency: "0" }, [["--concurrency", /"0" is not a number of 1 to 1000/]]],
    ["an invalid port", { port: "80800" }, [["--port", /is not a port/]]],
    [
      "functions of others in plain text",
      { functionUrl: "http://fns.example.com/{function}" },
      [["--function-url", /plain http/]],
    ],
    [
      "a token of others without a URL",
      { functionTokenFile: "/token" },
      [["--function-token-file", /--function-url/]],
    ],
  ])("refuse %s", async (_, flags, faults) => {
    const error = await read(flags).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(ConfigurationError);
    expect((error as ConfigurationError).faults).toEqual(
      faults.map(([name, message]) => ({ name, message: expect.stringMatching(message) })),
    );
  });

  test("refuse an environment without clusters", async () => {
    await expect(read({}, {})).rejects.toThrow("$CLUSTERS_FILE: is not set");
  });
});

describe("the access to functions over HTTP", () => {
  test("is the file's token, read again, or the environment's", async () => {
    const { authorization } = createFunctionAccess({ functionTokenFile: inFolder("rotated") }, {});
    await writeFile(inFolder("rotated"), "first");
    expect(await authorization()).toBe("Bearer first");
    await writeFile(inFolder("rotated"), "second");
    expect(await authorization({ fresh: true })).toBe("Bearer second");
    expect(await createFunctionAccess({}, { FUNCTION_TOKEN: "third" }).authorization()).toBe("Bearer third");
    expect(await createFunctionAccess({}, {}).authorization()).toBeUndefined();
  });

  test.each<[string, FunctionFlags, Record<string, string>, string, RegExp]>([
    [
      "two tokens",
      { functionTokenFile: "/token" },
      { FUNCTION_TOKEN: "x" },
      "--function-token-file",
      /one of the two/,
    ],
    ["a file of two tokens", { functionTokenFile: "/two-tokens" }, {}, "--function-token-file", /at most 1/],
    ["a missing file", { functionTokenFile: "/none" }, {}, "--function-token-file", /ENOENT/],
    ["a token of two words", {}, { FUNCTION_TOKEN: "two words" }, "$FUNCTION_TOKEN", /is not a bearer token/],
    ["an invalid authority", { functionCaFile: "/token" }, {}, "--function-ca-file", /not a certificate/],
    [
      "a certificate without a key",
      { functionCertFile: "/ca.pem" },
      {},
      "--function-cert-file",
      /both or neither/,
    ],
    [
      "another certificate's key",
      { functionCertFile: "/ca.pem", functionKeyFile: "/server.key" },
      {},
      "--function-cert-file",
      /not a certificate and its key/,
    ],
  ])("is not %s", async (_, flags, environment, name, message) => {
    const inPlace = Object.fromEntries(
      Object.entries(flags).map(([key, value]) => [key, inFolder(String(value).slice(1))]),
    );
    const faults: ConfigurationFault[] = [];
    await checkFunctionAccess(inPlace, environment, faults);
    expect(faults).toEqual([{ name, message: expect.stringMatching(message) }]);
  });
});
