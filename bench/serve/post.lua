-- Posts the bodies of a file in turn (one JSON object a line), and tells what came of it as JSON.
-- wrk ... -s post.lua URL -- FILE KEY
-- Where a body has the mark of nobody in it, somebody new takes its place each time.

local NOBODY_YET = "nobody%-yet%-0"

local requests = {}
local place = 0
local somebody = nil
local today = 0

function init(args)
  local headers = {
    ["Content-Type"] = "application/json",
    ["Authorization"] = "Bearer " .. args[2],
  }
  for body in io.lines(args[1]) do
    requests[#requests + 1] = wrk.format("POST", nil, headers, body)
  end
  if requests[1]:find(NOBODY_YET) then
    somebody = 0
    today = os.time() % 100000
  end
end

function request()
  place = place % #requests + 1
  if not somebody then
    return requests[place]
  end
  somebody = somebody + 1
  return (requests[place]:gsub(NOBODY_YET, string.format("a%05d%06d", today, somebody), 1))
end

function done(summary)
  local errors = summary.errors
  io.write(string.format(
    'result {"requests":%d,"microseconds":%d,"bytes":%d,"status":%d,"connect":%d,"read":%d,"write":%d,"timeout":%d}\n',
    summary.requests, summary.duration, summary.bytes,
    errors.status, errors.connect, errors.read, errors.write, errors.timeout))
end
