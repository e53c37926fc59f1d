import * as elb from "@aws-sdk/client-elastic-load-balancing";
import * as elbv2 from "@aws-sdk/client-elastic-load-balancing-v2";
import { expect, test } from "vitest";
import { answerError } from "#clouds/aws/actions/answer-error.ts";
import { classify, QUOTA, THROTTLED } from "#clouds/aws/errors.ts";
import { problemOf } from "#clouds/aws/load-balancers/problem-of.ts";
import { awsError } from "#test/clouds/aws/ec2-world.ts";
import { service } from "#test/clouds/aws/load-balancers/network/world.ts";

/** Of Elastic Load Balancing's exceptions those that our operations cannot meet: of trust stores, and of reserved capacity. */
const OTHERS = /^(TooManyTrustStore|Capacity)/;

const actionOf = (action: string) => ({ action, target: "it", parameters: {} });

test.each([...THROTTLED])("%s says: too fast", (code) => {
  for (const name of [code, `${code}Exception`]) {
    const answer = answerError("ec2:CreateSecurityGroup", {}, awsError(name, 400));
    expect(answer).toMatchObject({ kind: "error", code: "Throttled" });
    const { reason } = answer as { readonly reason: string };
    expect(problemOf(actionOf("ec2:CreateSecurityGroup"), { reason }, service())).toBeUndefined();
    expect(classify(awsError(name, 400), "DescribeInstances").code).toBe("Throttled");
  }
});

test.each([...QUOTA])("%s says that there are as many as there may be", (code) => {
  for (const name of [code, `${code}Exception`]) {
    const answer = answerError("elbv2:CreateLoadBalancer", {}, awsError(name, 400));
    expect(answer).toMatchObject({ kind: "error", code: "Invalid" });
    const { reason } = answer as { readonly reason: string };
    expect(problemOf(actionOf("elbv2:CreateLoadBalancer"), { reason }, service())).toMatchObject({
      code: expect.stringMatching(/^(QuotaExceeded|TooMany(Rules|Ports|Targets))$/),
    });
  }
});

test("no code says both", () => {
  expect([...QUOTA].filter((code) => THROTTLED.has(code))).toEqual([]);
});

test("every exception of Elastic Load Balancing that names a limit is in one of the sets", () => {
  const names = [...Object.keys(elb), ...Object.keys(elbv2)].flatMap((name) =>
    /^(?:.*(?:TooMany|Limit|Throttl).*)Exception$/.test(name) ? [name.replace(/Exception$/, "")] : [],
  );
  expect(names.length).toBeGreaterThan(10);
  const unknown = names.filter((name) => !QUOTA.has(name) && !THROTTLED.has(name) && !OTHERS.test(name));
  expect([...new Set(unknown)]).toEqual([]);
});
