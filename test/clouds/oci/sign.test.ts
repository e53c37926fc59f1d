import { createPrivateKey, createPublicKey, verify } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  buildAuthorization,
  buildSignedHeaders,
  formatSigningString,
  signRequests,
} from "#clouds/oci/sign.ts";

// The example of Oracle's documentation of request signatures, with the key from
// draft-cavage-http-signatures-08.
const KEY = createPrivateKey(
  [
    "-----BEGIN RSA PRIVATE KEY-----",
    "MIICXgIBAAKBgQDCFENGw33yGihy92pDjZQhl0C36rPJj+CvfSC8+q28hxA161QF",
    "NUd13wuCTUcq0Qd2qsBe/2hFyc2DCJJg0h1L78+6Z4UMR7EOcpfdUE9Hf3m/hs+F",
    "UR45uBJeDK1HSFHD8bHKD6kv8FPGfJTotc+2xjJwoYi+1hqp1fIekaxsyQIDAQAB",
    "AoGBAJR8ZkCUvx5kzv+utdl7T5MnordT1TvoXXJGXK7ZZ+UuvMNUCdN2QPc4sBiA",
    "QWvLw1cSKt5DsKZ8UETpYPy8pPYnnDEz2dDYiaew9+xEpubyeW2oH4Zx71wqBtOK",
    "kqwrXa/pzdpiucRRjk6vE6YY7EBBs/g7uanVpGibOVAEsqH1AkEA7DkjVH28WDUg",
    "f1nqvfn2Kj6CT7nIcE3jGJsZZ7zlZmBmHFDONMLUrXR/Zm3pR5m0tCmBqa5RK95u",
    "412jt1dPIwJBANJT3v8pnkth48bQo/fKel6uEYyboRtA5/uHuHkZ6FQF7OUkGogc",
    "mSJluOdc5t6hI1VsLn0QZEjQZMEOWr+wKSMCQQCC4kXJEsHAve77oP6HtG/IiEn7",
    "kpyUXRNvFsDE0czpJJBvL/aRFUJxuRK91jhjC68sA7NsKMGg5OXb5I5Jj36xAkEA",
    "gIT7aFOYBFwGgQAQkWNKLvySgKbAZRTeLBacpHMuQdl1DfdntvAyqpAZ0lY0RKmW",
    "G6aFKaqQfOXKCyWoUiVknQJAXrlgySFci/2ueKlIE1QqIiLSZ8V8OlpFLRnb1pzI",
    "7U1yQXnTAEFYM560yJlzUpOb1V4cScGd365tiSMvxLOvTA==",
    "-----END RSA PRIVATE KEY-----",
  ].join("\n"),
);
const KEY_ID =
  "ocid1.tenancy.oc1..aaaaaaaaba3pv6wkcr4jqae5f15p2b2m2yt2j6rx32uzr4h25vqstifsfdsq/ocid1.user.oc1..aaaaaaaat5nvwcna5j6aqzjcaty5eqbb6qt2jvpkanghtgdaqedqw3rynjq/20:3b:97:13:55:1c:5b:0d:d3:37:d8:50:4e:c5:3a:34";
// This Thursday does not exist: it is signed as a plain text.
const AT = { date: "Thu, 05 Jan 2014 21:31:40 GMT", host: "iaas.us-phoenix-1.oraclecloud.com" };
const GET = {
  method: "GET" as const,
  path: "/20160918/instances?availabilityDomain=Pjwf%3A%20PHX-AD-1&compartmentId=ocid1.compartment.oc1..aaaaaaaam3we6vgnherjq5q2idnccdflvjsnog7mlr6rtdb25gilchfeyjxa&displayName=TeamXInstances&volumeId=ocid1.volume.oc1.phx.abyhqljrgvttnlx73nmrwfaux7kcvzfs3s66izvxf2h4lgvyndsdsnoiwr5q",
  body: undefined,
};
const POST = {
  method: "POST" as const,
  path: "/20160918/volumeAttachments",
  body: `{
    "compartmentId": "ocid1.compartment.oc1..aaaaaaaam3we6vgnherjq5q2idnccdflvjsnog7mlr6rtdb25gilchfeyjxa",
    "instanceId": "ocid1.instance.oc1.phx.abuw4ljrlsfiqw6vzzxb43vyypt4pkodawglp3wqxjqofakrwvou52gb6s5a",
    "volumeId": "ocid1.volume.oc1.phx.abyhqljrgvttnlx73nmrwfaux7kcvzfs3s66izvxf2h4lgvyndsdsnoiwr5q"
}`,
};

test.each([
  [
    "GET",
    GET,
    "date (request-target) host",
    "GBas7grhyrhSKHP6AVIj/h5/Vp8bd/peM79H9Wv8kjoaCivujVXlpbKLjMPeDUhxkFIWtTtLBj3sUzaFj34XE6YZAHc9r2DmE4pMwOAy/kiITcZxa1oHPOeRheC0jP2dqbTll8fmTZVwKZOKHYPtrLJIJQHJjNvxFWeHQjMaR7M=",
  ],
  [
    "POST",
    POST,
    "date (request-target) host content-length content-type x-content-sha256",
    "Mje8vIDPlwIHmD/cTDwRxE7HaAvBg16JnVcsuqaNRim23fFPgQfLoOOxae6WqKb1uPjYEl0qIdazWaBy/Ml8DRhqlocMwoSXv0fbukP8J5N80LCmzT/FFBvIvTB91XuXI3hYfP9Zt1l7S6ieVadHUfqBedWH0itrtPJBgKmrWso=",
  ],
])("the published %s has the published signature", (_, request, headers, signature) => {
  expect(buildAuthorization(buildSignedHeaders(request, AT), { keyId: KEY_ID, key: KEY })).toBe(
    `Signature version="1",keyId="${KEY_ID}",algorithm="rsa-sha256",headers="${headers}",signature="${signature}"`,
  );
});

test("the signed text has one line for each header, the body's digest last", () => {
  expect(formatSigningString(buildSignedHeaders(POST, AT)).split("\n")).toEqual([
    "date: Thu, 05 Jan 2014 21:31:40 GMT",
    "(request-target): post /20160918/volumeAttachments",
    "host: iaas.us-phoenix-1.oraclecloud.com",
    "content-length: 316",
    "content-type: application/json",
    "x-content-sha256: V9Z20UJTvkvpJ50flBzKE32+6m2zJjweHpDMX/U4Uy0=",
  ]);
});

test.each([
  ["PUT", "content-length: 0"],
  ["DELETE", undefined],
] as const)("%s without a body signs %s of it", (method, line) => {
  const lines = formatSigningString(
    buildSignedHeaders({ method, path: "/20170115/x", body: undefined }, AT),
  ).split("\n");
  expect(lines.find((each) => each.startsWith("content-"))).toBe(line);
  expect(lines.includes("x-content-sha256: 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")).toBe(
    method === "PUT",
  );
});

describe("signing for a host", () => {
  const request = { method: "GET", path: "/20160918/vnics/v", body: undefined } as const;
  const other = createPrivateKey(KEY.export({ type: "pkcs8", format: "pem" }));

  test("each attempt has its own date, and host and target are sent once", async () => {
    let now = Date.UTC(2026, 0, 1);
    const sign = signRequests({ keyId: "a/b/c", key: async () => KEY, host: "h:1", wallClock: () => now });
    const { headers, secrets } = await sign(request);
    now += 60_000;
    expect([headers["date"], (await sign(request)).headers["date"]]).toEqual([
      "Thu, 01 Jan 2026 00:00:00 GMT",
      "Thu, 01 Jan 2026 00:01:00 GMT",
    ]);
    expect(Object.keys(headers)).toEqual(["date", "authorization"]);
    const lines = `date: ${headers["date"]}\n(request-target): get /20160918/vnics/v\nhost: h:1`;
    const signature = Buffer.from(secrets[0] ?? "", "base64");
    expect(verify("sha256", Buffer.from(lines), createPublicKey(KEY), signature)).toBe(true);
  });

  test.each([
    ["the same key gives the same signature", KEY, true],
    ["another key gives another signature", other, false],
  ])("the server's reason for a rejection: %s", async (_, next, same) => {
    let key = KEY;
    const sign = signRequests({ keyId: "a/b/c", key: async () => key, host: "h", wallClock: Date.now });
    const refused = await sign(request);
    key = next;
    expect((await sign(request, refused)) === refused).toBe(same);
  });
});
