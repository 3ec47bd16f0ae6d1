-- The questions of interactive_short.gq in SQL, over the tables of the graph.

-- name: is1
select p.firstName, p.lastName, p.birthday, p.locationIP, p.browserUsed, c.placeId as cityId, p.gender, p.creationDate
from Person p
join IsLocatedIn l on l.src = p.id and l.src_type = 'Person'
join City c on c.id = l.dst
where p.personId = $personId;

-- name: is2
with recursive messages as (
  select 'Post' as type, id, messageId, content, imageFile, creationDate from Post
  union all
  select 'Comment', id, messageId, content, imageFile, creationDate from Comment
),
newest as (
  select m.*
  from messages m
  join HasCreator h on h.src = m.id and h.src_type = m.type
  join Person p on p.id = h.dst
  where p.personId = $personId
  order by m.creationDate desc, m.messageId desc
  limit 10
),
thread as (
  select messageId as start, type, id from newest
  union all
  select t.start, r.dst_type, r.dst from thread t join ReplyOf r on r.src = t.id and t.type = 'Comment'
)
select
  n.messageId, coalesce(n.content, n.imageFile) as messageContent, n.creationDate as messageCreationDate,
  post.messageId as postId, a.personId, a.firstName, a.lastName
from newest n
join thread t on t.start = n.messageId and t.type = 'Post'
join Post post on post.id = t.id
join HasCreator h on h.src = post.id and h.src_type = 'Post'
join Person a on a.id = h.dst
order by messageCreationDate desc, n.messageId desc;

-- name: is3
with friends as (select src, dst, creationDate from Knows union select dst, src, creationDate from Knows)
select f.personId, f.firstName, f.lastName, k.creationDate as friendshipCreationDate
from Person p
join friends k on k.src = p.id
join Person f on f.id = k.dst
where p.personId = $personId
order by friendshipCreationDate desc, f.personId;

-- name: is4
select creationDate as messageCreationDate, coalesce(content, imageFile) as messageContent
from (
  select messageId, creationDate, content, imageFile from Post
  union all
  select messageId, creationDate, content, imageFile from Comment
)
where messageId = $messageId;

-- name: is5
with messages as (
  select 'Post' as type, id, messageId from Post union all select 'Comment', id, messageId from Comment
)
select p.personId, p.firstName, p.lastName
from messages m
join HasCreator h on h.src = m.id and h.src_type = m.type
join Person p on p.id = h.dst
where m.messageId = $messageId;

-- name: is6
with recursive thread as (
  select 'Post' as type, id from Post where messageId = $messageId
  union all
  select 'Comment', id from Comment where messageId = $messageId
  union all
  select r.dst_type, r.dst from thread t join ReplyOf r on r.src = t.id and t.type = 'Comment'
)
select
  f.forumId, f.title as forumTitle,
  p.personId as moderatorId, p.firstName as moderatorFirstName, p.lastName as moderatorLastName
from thread t
join ContainerOf c on c.dst = t.id and t.type = 'Post'
join Forum f on f.id = c.src
join HasModerator m on m.src = f.id
join Person p on p.id = m.dst;

-- name: is7
with messages as (
  select 'Post' as type, id, messageId from Post union all select 'Comment', id, messageId from Comment
),
friends as (select src, dst from Knows union select dst, src from Knows)
select
  c.messageId as commentId, c.content as commentContent, c.creationDate as commentCreationDate,
  a.personId as authorId, a.firstName as authorFirstName, a.lastName as authorLastName,
  exists (select 1 from friends k where k.src = a.id and k.dst = o.dst) as authorKnowsCreator
from messages m
join HasCreator o on o.src = m.id and o.src_type = m.type
join ReplyOf r on r.dst = m.id and r.dst_type = m.type
join Comment c on c.id = r.src
join HasCreator h on h.src = c.id and h.src_type = 'Comment'
join Person a on a.id = h.dst
where m.messageId = $messageId
order by commentCreationDate desc, authorId;
