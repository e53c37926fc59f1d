import { expect, test } from "vitest";
import { checkExchange } from "#test/aws-models/check-exchange.ts";
import { checkValue } from "#test/aws-models/check-value.ts";
import type { Exchange } from "#test/aws-models/exchange.ts";
import { loadModel, type ServiceName } from "#test/aws-models/service-model.ts";
import { formatViolation } from "#test/aws-models/violation.ts";
import { describeWithPart } from "#test/setup/parts.ts";

/** The violations in the form of the SDK's input of an operation. */
function checkInput(folder: string, name: string, value: object): readonly string[] {
  const [service, operation = ""] = name.split(":") as [ServiceName, string];
  const model = loadModel(folder, service);
  const found: string[] = [];
  const input = model.operations[operation]?.input ?? { shape: "" };
  checkValue(model, input, value, "sdk", (path, rule, detail) => found.push(`${path} ${rule}: ${detail}`));
  return found;
}

const GROUP = {
  Name: "web",
  Protocol: "TCP",
  Port: 80,
  VpcId: "vpc-1",
  Tags: [{ Key: "a", Value: "b" }],
} as const;

const EC2 = "http://ec2.amazonaws.com/doc/2016-11-15/";
const ELBV2 = "http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/";

function buildExchange(change: Partial<Exchange>): Exchange {
  return {
    method: "POST",
    target: "/",
    requestHeaders: {},
    requestBody: Buffer.alloc(0),
    status: 200,
    answerHeaders: {},
    answerBody: Buffer.alloc(0),
    ...change,
  };
}

/** A query request and its answer's document. */
function buildQuery(form: string, document: string, status = 200): Exchange {
  return buildExchange({
    requestHeaders: { "content-type": "application/x-www-form-urlencoded; charset=utf-8" },
    requestBody: Buffer.from(form),
    status,
    answerBody: Buffer.from(document),
  });
}

const DESCRIBE = "Action=DescribeInstances&Version=2016-11-15";
const INSTANCES = (content: string): string =>
  `<?xml version="1.0"?><DescribeInstancesResponse xmlns="${EC2}"><requestId>1</requestId><reservationSet><item><instancesSet><item>${content}</item></instancesSet></item></reservationSet></DescribeInstancesResponse>`;
const CREATE_LISTENER = `Action=CreateListener&Version=2015-12-01&LoadBalancerArn=arn&Protocol=TCP&Port=80&DefaultActions.member.1.Type=forward&DefaultActions.member.1.TargetGroupArn=arn`;
const LISTENERS = (content: string): string =>
  `<CreateListenerResponse xmlns="${ELBV2}"><CreateListenerResult><Listeners><member>${content}</member></Listeners></CreateListenerResult><ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></CreateListenerResponse>`;

const SSM = {
  requestHeaders: { "x-amz-target": "AmazonSSM.GetParameter" },
  requestBody: Buffer.from('{"Name":"/a","WithDecryption":true}'),
};
const INVOKE = { target: "/2015-03-31/functions/node/invocations", requestBody: Buffer.from("{}") };
const SIGNED =
  "AWS4-HMAC-SHA256 Credential=A/20260101/eu-central-1/s3/aws4_request, SignedHeaders=host, Signature=0";

describeWithPart("aws-models", "AWS's service models", (folder) => {
  test.each<[string, object, readonly string[]]>([
    ["nothing in a valid request", GROUP, []],
    [
      "a member of another name",
      { ...GROUP, IpAddresType: "ipv4" },
      ["IpAddresType unknown: no such member, with a string of 4 characters"],
    ],
    [
      "a missing member",
      { ...GROUP, Name: undefined },
      ["Name required: a required member, which is missing"],
    ],
    [
      "a tag's key that is too long",
      { ...GROUP, Tags: [{ Key: "k".repeat(129), Value: "" }] },
      ["Tags[].Key length: at most 128, not 129"],
    ],
    ["an empty list of tags", { ...GROUP, Tags: [] }, ["Tags size: at least 1, not 0"]],
    [
      "an unknown protocol",
      { ...GROUP, Protocol: "SCTP" },
      [expect.stringMatching(/^Protocol enum: one of \d+ values/)],
    ],
    ["a port that is too large", { ...GROUP, Port: 65_536 }, ["Port range: at most 65535, not 65536"]],
    [
      "a text in place of a number",
      { ...GROUP, Port: "80" },
      ["Port type: an integer, not a string of 2 characters"],
    ],
    [
      "a text in place of a list",
      { ...GROUP, Tags: "a" },
      ["Tags type: a list, not a string of 1 characters"],
    ],
  ])("report %s", (_, value, violations) => {
    expect(checkInput(folder, "elbv2:CreateTargetGroup", value)).toEqual(violations);
  });

  test("report a value that does not match the whole pattern", () => {
    const role = { RoleArn: "arn:aws:iam::123456789012:role/a", RoleSessionName: "two words" };
    expect(checkInput(folder, "sts:AssumeRole", role)).toEqual([
      expect.stringMatching(/^RoleSessionName pattern: a match of .*, not a string of 9 characters$/),
    ]);
  });

  test.each<[string, Exchange, readonly string[]]>([
    [
      "nothing in valid documents of EC2",
      buildQuery(
        `${DESCRIBE}&InstanceId.1=i-1&Filter.1.Name=a&Filter.1.Value.1=b&MaxResults=5`,
        INSTANCES(
          "<instanceId>i-1</instanceId><launchTime>2026-01-01T00:00:00.000Z</launchTime><ebsOptimized>false</ebsOptimized>",
        ),
      ),
      [],
    ],
    [
      "nothing in valid documents of ELB",
      buildQuery(CREATE_LISTENER, LISTENERS("<Port>80</Port><Protocol>TCP</Protocol>")),
      [],
    ],
    [
      "an unknown parameter of EC2",
      buildQuery(`${DESCRIBE}&Filters.1.Name=a`, INSTANCES("")),
      ["ec2:DescribeInstances, request, Filters: unknown: no such parameter"],
    ],
    [
      "an unknown parameter of ELB",
      buildQuery(`${CREATE_LISTENER}&DefaultActions.member.1.Priority=1`, LISTENERS("")),
      ["elbv2:CreateListener, request, DefaultActions[].Priority: unknown: no such parameter"],
    ],
    [
      "a parameter of another type",
      buildQuery(`${DESCRIBE}&MaxResults=many`, INSTANCES("")),
      ["ec2:DescribeInstances, request, MaxResults: type: an integer, not a string of 4 characters"],
    ],
    [
      "a missing parameter",
      buildQuery(
        "Action=DeleteListener&Version=2015-12-01",
        `<DeleteListenerResponse xmlns="${ELBV2}"><DeleteListenerResult/></DeleteListenerResponse>`,
      ),
      ["elbv2:DeleteListener, request, ListenerArn: required: a required member, which is missing"],
    ],
    [
      "an unknown operation",
      buildQuery("Action=DescribeWeather&Version=2016-11-15", "<Response/>"),
      ["ec2:DescribeWeather, request: unknown: no such operation"],
    ],
    [
      "an unknown element",
      buildQuery(DESCRIBE, INSTANCES("<instanceID>i-1</instanceID>")),
      ["ec2:DescribeInstances, answer, Reservations[].Instances[].instanceID: unknown: no such element"],
    ],
    [
      "an element of a list with another name",
      buildQuery(DESCRIBE, INSTANCES("<tagSet><member><key>a</key></member></tagSet>")),
      ["ec2:DescribeInstances, answer, Reservations[].Instances[].Tags.member: unknown: a list of item"],
    ],
    [
      "a text in place of a structure",
      buildQuery(DESCRIBE, INSTANCES("<instanceState>running</instanceState>")),
      [
        "ec2:DescribeInstances, answer, Reservations[].Instances[].State: type: a structure, not a string of 7 characters",
      ],
    ],
    [
      "a text in place of a number",
      buildQuery(DESCRIBE, INSTANCES("<amiLaunchIndex>first</amiLaunchIndex>")),
      [
        "ec2:DescribeInstances, answer, Reservations[].Instances[].AmiLaunchIndex: type: an integer, not a string of 5 characters",
      ],
    ],
    [
      "a state that EC2 does not have",
      buildQuery(DESCRIBE, INSTANCES("<instanceState><name>asleep</name></instanceState>")),
      [
        "ec2:DescribeInstances, answer, Reservations[].Instances[].State.Name: enum: one of 6 values, not a string of 6 characters",
      ],
    ],
    [
      "an element that occurs twice",
      buildQuery(DESCRIBE, INSTANCES("<vpcId>a</vpcId><vpcId>b</vpcId>")),
      ["ec2:DescribeInstances, answer, Reservations[].Instances[].VpcId: type: one element, not 2"],
    ],
    [
      "a document of another operation",
      buildQuery(DESCRIBE, `<DescribeVpcsResponse xmlns="${EC2}"/>`),
      [
        "ec2:DescribeInstances, answer: protocol: a document DescribeInstancesResponse, not DescribeVpcsResponse",
      ],
    ],
    [
      "a document without a namespace",
      buildQuery(DESCRIBE, "<DescribeInstancesResponse/>"),
      [
        "ec2:DescribeInstances, answer: protocol: the namespace http://ec2.amazonaws.com/doc/2016-11-15, not none",
      ],
    ],
    [
      "a result without its wrapper",
      buildQuery(
        CREATE_LISTENER,
        `<CreateListenerResponse xmlns="${ELBV2}"><Listeners/></CreateListenerResponse>`,
      ),
      [
        "elbv2:CreateListener, answer: protocol: an element CreateListenerResult",
        "elbv2:CreateListener, answer, Listeners: unknown: no such element",
      ],
    ],
    [
      "an error in another service's form",
      buildQuery(
        CREATE_LISTENER,
        "<Response><Errors><Error><Code>Throttling</Code></Error></Errors></Response>",
        400,
      ),
      ["elbv2:CreateListener, answer: protocol: an error at ErrorResponse/Error/Code, not Response"],
    ],
    [
      "an error that the operation does not return",
      buildQuery(
        CREATE_LISTENER,
        "<ErrorResponse><Error><Code>NoSuchListener</Code></Error></ErrorResponse>",
        400,
      ),
      ["elbv2:CreateListener, answer: error: an error of CreateListener, not NoSuchListener"],
    ],
    [
      "nothing in an error of the operation",
      buildQuery(
        CREATE_LISTENER,
        "<ErrorResponse><Error><Code>DuplicateListener</Code></Error></ErrorResponse>",
        400,
      ),
      [],
    ],
    [
      "nothing in valid JSON",
      buildExchange({
        ...SSM,
        answerBody: Buffer.from('{"Parameter":{"Name":"/a","Version":1,"LastModifiedDate":1.5}}'),
      }),
      [],
    ],
    [
      "a text in place of a number in JSON",
      buildExchange({ ...SSM, answerBody: Buffer.from('{"Parameter":{"Version":"1"}}') }),
      ["ssm:GetParameter, answer, Parameter.Version: type: an integer, not a string of 1 characters"],
    ],
    [
      "an unknown member in JSON",
      buildExchange({
        ...SSM,
        requestBody: Buffer.from('{"Name":"/a","Decrypt":true}'),
        answerBody: Buffer.from("{}"),
      }),
      ["ssm:GetParameter, request, Decrypt: unknown: no such member, with a boolean"],
    ],
    [
      "an error that SSM does not return",
      buildExchange({
        ...SSM,
        status: 400,
        answerBody: Buffer.from('{"__type":"com.amazonaws.ssm#ParameterMissing"}'),
      }),
      ["ssm:GetParameter, answer: error: an error of GetParameter, not ParameterMissing"],
    ],
    [
      "nothing in a valid invocation",
      buildExchange({
        ...INVOKE,
        requestHeaders: { "x-amz-invocation-type": "RequestResponse" },
        answerBody: Buffer.from("[]"),
      }),
      [],
    ],
    [
      "an unknown kind of invocation",
      buildExchange({ ...INVOKE, requestHeaders: { "x-amz-invocation-type": "Later" } }),
      ["lambda:Invoke, request, InvocationType: enum: one of 3 values, not a string of 5 characters"],
    ],
    [
      "a name that no function can have",
      buildExchange({ ...INVOKE, target: "/2015-03-31/functions/a%20b/invocations" }),
      [expect.stringMatching(/^lambda:Invoke, request, FunctionName: pattern: /)],
    ],
    [
      "an error that Lambda does not return",
      buildExchange({
        ...INVOKE,
        status: 404,
        answerHeaders: { "x-amzn-errortype": "NoSuchFunctionException" },
      }),
      ["lambda:Invoke, answer: error: an error of Invoke, not NoSuchFunctionException"],
    ],
    [
      "another status than the operation's",
      buildExchange({
        method: "GET",
        target: "/2016-08-19/account-settings/",
        status: 202,
        answerBody: Buffer.from("{}"),
      }),
      ["lambda:GetAccountSettings, answer: protocol: HTTP status 200, not 202"],
    ],
    [
      "an unknown parameter of S3's query",
      buildExchange({
        method: "GET",
        target: "/bucket/key?part=1",
        requestHeaders: { authorization: SIGNED },
      }),
      ["s3:GetObject, request, part: unknown: no such parameter of the query"],
    ],
    [
      "nothing in a write of an S3 object, and not one of a copy",
      buildExchange({
        ...{ method: "PUT", target: "/bucket/key", requestBody: Buffer.from("{}") },
        requestHeaders: { authorization: SIGNED, "if-none-match": "*" },
      }),
      [],
    ],
    ["nothing in a request of another API", buildQuery("grant_type=client_credentials", "{}"), []],
  ])("report %s", (_, exchange, violations) => {
    expect(checkExchange(folder, exchange).map(formatViolation)).toEqual(violations);
  });
});
