import * as elb from "@aws-sdk/client-elastic-load-balancing";
import * as elbv2 from "@aws-sdk/client-elastic-load-balancing-v2";
import { expect, test } from "vitest";
import { toActionAnswer } from "#clouds/aws/actions/perform.ts";
import { classify } from "#clouds/aws/errors.ts";
import { toIssue } from "#clouds/aws/load-balancers/model.ts";
import { QUOTA, THROTTLED } from "#platforms/aws/error-codes.ts";
import { createAwsError } from "#test/clouds/aws/ec2-world.ts";
import { buildService } from "#test/clouds/aws/load-balancers/network/world.ts";

/**
 * Exceptions of Elastic Load Balancing that our operations cannot get: for trust stores and reserved
 * capacity.
 */
const OTHERS = /^(TooManyTrustStore|Capacity)/;

const actionOf = (action: string) => ({ action, target: "it", parameters: {} });

test.each([...THROTTLED])("%s is a throttle", (code) => {
  for (const name of [code, `${code}Exception`]) {
    const answer = toActionAnswer("ec2:CreateSecurityGroup", {}, createAwsError(name, 400));
    expect(answer).toMatchObject({ kind: "error", code: "Throttled" });
    const { reason } = answer as { readonly reason: string };
    expect(toIssue(actionOf("ec2:CreateSecurityGroup"), { reason }, buildService())).toBeUndefined();
    expect(classify(createAwsError(name, 400), "DescribeInstances").code).toBe("Throttled");
  }
});

test.each([...QUOTA])("%s is a used-up quota", (code) => {
  for (const name of [code, `${code}Exception`]) {
    const answer = toActionAnswer("elbv2:CreateLoadBalancer", {}, createAwsError(name, 400));
    expect(answer).toMatchObject({ kind: "error", code: "Invalid" });
    const { reason } = answer as { readonly reason: string };
    expect(toIssue(actionOf("elbv2:CreateLoadBalancer"), { reason }, buildService())).toMatchObject({
      code: expect.stringMatching(/^(QuotaExceeded|TooMany(Rules|Ports|Targets))$/),
    });
  }
});

test("no code is both", () => {
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
