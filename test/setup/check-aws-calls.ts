import { afterAll, afterEach, inject } from "vitest";
import {
  addExchange,
  checkCall,
  countUnchecked,
  startChecks,
  takeViolations,
} from "#test/aws-models/aws-calls.ts";
import { observeHttp } from "#test/aws-models/observe-http.ts";
import { observeSdk } from "#test/aws-models/observe-sdk.ts";
import { formatViolation } from "#test/aws-models/violation.ts";

// Every request to AWS's API and every answer, of whichever emulator or fake, has to be one of AWS's service models.
// A test fails if a call in it, or before it in its file, is not; a call after the last test fails the file.

const SERVICES: Readonly<Record<string, string>> = {
  EC2: "ec2",
  "Elastic Load Balancing": "elb",
  "Elastic Load Balancing v2": "elbv2",
  Lambda: "lambda",
  "Secrets Manager": "secretsmanager",
  SSM: "ssm",
  STS: "sts",
};

const models = inject("parts")["aws-models"];
startChecks(models?.kind === "present" ? models.value : undefined);
const endHttp = observeHttp(addExchange);
const endSdk = observeSdk((serviceId, operation, input) => {
  const service = SERVICES[serviceId];
  if (service !== undefined) checkCall(`${service}:${operation}`, "request", input);
});

afterEach(failOnViolations);

// biome-ignore lint/correctness/noEmptyPattern: vitest takes only a destructured context before the suite.
afterAll(({}, { meta }) => {
  endHttp();
  endSdk();
  failOnViolations();
  const unchecked = countUnchecked();
  if (unchecked === 0) return;
  if (process.env["CI"] === "true" && models?.kind === "missing")
    throw new Error(
      `AWS's service models are missing, and with CI=true nothing may be skipped: ${models.because}`,
    );
  meta.uncheckedAwsCalls = unchecked;
});

function failOnViolations(): void {
  const { violations, missing } = takeViolations();
  const lines = [
    ...violations.map((each) => `  ${formatViolation(each)}`),
    ...missing.map((key) => `  ${key}: the test expects this violation, and it did not occur`),
  ];
  if (lines.length > 0) throw new Error(`calls that AWS's service models do not allow:\n${lines.join("\n")}`);
}
