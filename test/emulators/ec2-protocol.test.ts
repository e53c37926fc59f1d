import { expect, test } from "vitest";
import { startEmbeddedEc2 } from "./ec2-embedded.ts";

const SIGNED =
  "AWS4-HMAC-SHA256 Credential=AKIATEST/20260101/eu-central-1/ec2/aws4_request, SignedHeaders=host, Signature=0";
const CALL = "Action=DescribeAvailabilityZones&Version=2016-11-15";

test.each([
  { name: "no signature", headers: {}, body: CALL, status: 403, code: "MissingAuthenticationToken" },
  {
    name: "another kind of signature",
    headers: { authorization: "Basic YTpi" },
    body: CALL,
    status: 400,
    code: "IncompleteSignature",
  },
  {
    name: "a signature for another region",
    headers: { authorization: SIGNED.replace("eu-central-1", "us-east-1") },
    body: CALL,
    status: 401,
    code: "AuthFailure",
  },
  { name: "no action", body: "Version=2016-11-15", status: 400, code: "MissingAction" },
  {
    name: "an action that there is not",
    body: "Action=toString&Version=2016-11-15",
    status: 400,
    code: "InvalidAction",
  },
  {
    name: "a version that there is not",
    body: "Action=DescribeInstances&Version=2015-01-01",
    status: 400,
    code: "NoSuchVersion",
  },
  {
    name: "a filter without a value",
    body: "Action=DescribeInstances&Version=2016-11-15&Filter.1.Name=vpc-id",
    status: 400,
    code: "InvalidParameterValue",
  },
  {
    name: "a filter without a name",
    body: "Action=DescribeInstances&Version=2016-11-15&Filter.1.Value.1=x",
    status: 400,
    code: "InvalidParameterValue",
  },
  {
    name: "a filter value of 256 characters",
    body: `Action=DescribeInstances&Version=2016-11-15&Filter.1.Name=vpc-id&Filter.1.Value.1=${"x".repeat(256)}`,
    status: 400,
    code: "FilterLimitExceeded",
  },
  {
    name: "200 values in one filter and one in another",
    body: `Action=DescribeInstances&Version=2016-11-15&Filter.2.Name=vpc-id&Filter.2.Value.1=x&Filter.1.Name=instance-id${Array.from(
      { length: 200 },
      (_, at) => `&Filter.1.Value.${at + 1}=i-${at}`,
    ).join("")}`,
    status: 400,
    code: "FilterLimitExceeded",
  },
  {
    name: "a page size that is not a number",
    body: "Action=DescribeInstances&Version=2016-11-15&MaxResults=ten",
    status: 400,
    code: "InvalidParameterValue",
  },
  {
    name: "more than a megabyte",
    body: `${CALL}&Padding=${"x".repeat(1024 * 1024)}`,
    status: 413,
    code: "RequestEntityTooLarge",
  },
])("rejects a request with $name with $code", async ({ headers, body, status, code }) => {
  const { server } = await startEmbeddedEc2();
  const response = await fetch(server.url, {
    method: "POST",
    headers: headers ?? { authorization: SIGNED },
    body,
  });
  expect(response.status).toBe(status);
  expect(await response.text()).toMatch(
    new RegExp(
      `^<\\?xml [^>]*><Response><Errors><Error><Code>${code}</Code><Message>.+</RequestID></Response>$`,
      "s",
    ),
  );
});

test("an answer has its request id in body and header", async () => {
  const { server } = await startEmbeddedEc2();
  const response = await fetch(server.url, {
    method: "POST",
    headers: { authorization: SIGNED },
    body: CALL,
  });
  const id = response.headers.get("x-amzn-requestid");
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  expect(await response.text()).toContain(`<requestId>${id}</requestId>`);
});

test("reads lists in numeric order, in any order of the parameters", async () => {
  const { server } = await startEmbeddedEc2();
  const body =
    "InstanceId.10=i-0000000a&InstanceId.2=i-00000002&Action=DescribeInstances&Version=2016-11-15&InstanceId.1=i-00000001";
  const response = await fetch(server.url, { method: "POST", headers: { authorization: SIGNED }, body });
  expect(await response.text()).toContain("&apos;i-00000001, i-00000002, i-0000000a&apos;");
});

test("reads filters in any order of their parts", async () => {
  const { server } = await startEmbeddedEc2({ instances: [{}, {}] });
  const body =
    "Filter.9.Value.2=i-00000000000000002&Action=DescribeInstances&Version=2016-11-15&Filter.10.Value.1=*&Filter.9.Value.10=x&Filter.10.Name=vpc-id&Filter.9.Name=instance-id";
  const response = await fetch(server.url, { method: "POST", headers: { authorization: SIGNED }, body });
  expect(await response.text()).toContain("<instanceId>i-00000000000000002</instanceId>");
  expect(server.record()).toMatchObject([{ results: 1, asked: 2 }]);
});
